package leaktest

// Finding leaks on Windows.

import (
	"fmt"
	"slices"
	"testing"
	"unicode/utf16"
	"unsafe"

	"github.com/acpterm/acpterm/internal/wintest"
	"golang.org/x/sys/windows"
)

// Descriptors counts the open handles of this process, of the kinds created by the library.
func Descriptors() int { return wintest.OpenHandles() }

// NeedsEndsInTheMiddle is for tests that end a process while it creates another one. Under Wine 8 the new process then
// stays in the job forever, and nothing terminates it.
func NeedsEndsInTheMiddle(t testing.TB) {
	t.Helper()
	if wintest.UnderWine() {
		t.Skip("Wine cannot terminate a process whose creator was terminated in the middle of creating it")
	}
}

// CanAsk reports whether a command can be asked to end, with CTRL_BREAK.
func CanAsk() bool {
	_, err := windows.GetConsoleCP()
	return err == nil && !wintest.UnderWine()
}

// NeedsAsking is for tests that ask commands to end. Wine 8 cannot do that: its GenerateConsoleCtrlEvent fails, with
// ERROR_INVALID_HANDLE if there is a console and with ERROR_INVALID_ACCESS otherwise.
func NeedsAsking(t testing.TB) {
	t.Helper()
	if !CanAsk() {
		t.Skip("CTRL_BREAK cannot be sent: this is Wine, or there is no console")
	}
}

// Snapshot returns all processes.
func Snapshot() (entries []windows.ProcessEntry32) {
	handle, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPPROCESS, 0)
	if err != nil {
		panic(err)
	}
	defer windows.CloseHandle(handle)
	entry := windows.ProcessEntry32{Size: uint32(unsafe.Sizeof(windows.ProcessEntry32{}))}
	for err = windows.Process32First(handle, &entry); err == nil; err = windows.Process32Next(handle, &entry) {
		entries = append(entries, entry)
	}
	return entries
}

// Processes returns the running processes with a variable, "NAME=value", in their environment.
func Processes(mark string) (found []string) {
	for _, entry := range Snapshot() {
		if entry.ProcessID != windows.GetCurrentProcessId() && slices.Contains(environmentOf(entry.ProcessID), mark) {
			found = append(found, fmt.Sprint(entry.ProcessID, " ", windows.UTF16ToString(entry.ExeFile[:])))
		}
	}
	return found
}

// environmentOf returns the environment of a process, read from its memory, or nothing if it cannot be read, for
// example because the process is exiting.
func environmentOf(pid uint32) (variables []string) {
	process, err := windows.OpenProcess(windows.PROCESS_QUERY_INFORMATION|windows.PROCESS_VM_READ, false, pid)
	if err != nil {
		return nil
	}
	defer windows.CloseHandle(process)
	// Pointers of another process are numbers in this one. The second word of the basic information is the address of
	// the process environment block (PEB).
	var info [unsafe.Sizeof(windows.PROCESS_BASIC_INFORMATION{}) / unsafe.Sizeof(uintptr(0))]uintptr
	if windows.NtQueryInformationProcess(process, windows.ProcessBasicInformation,
		unsafe.Pointer(&info), uint32(unsafe.Sizeof(info)), nil) != nil {
		return nil
	}
	word := func(address uintptr) (value uintptr) {
		windows.ReadProcessMemory(process, address, (*byte)(unsafe.Pointer(&value)), unsafe.Sizeof(value), nil)
		return value
	}
	parameters := word(info[1] + unsafe.Offsetof(windows.PEB{}.ProcessParameters))
	size := word(parameters + unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.EnvironmentSize))
	if size < 2 {
		return nil
	}
	text := make([]uint16, size/2)
	block := word(parameters + unsafe.Offsetof(windows.RTL_USER_PROCESS_PARAMETERS{}.Environment))
	windows.ReadProcessMemory(process, block, (*byte)(unsafe.Pointer(&text[0])), uintptr(2*len(text)), nil)
	for begin, i := 0, 0; i < len(text); i++ {
		if text[i] == 0 {
			variables = append(variables, string(utf16.Decode(text[begin:i])))
			begin = i + 1
		}
	}
	return variables
}
