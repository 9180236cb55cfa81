package capture

// The code page of the text that programs write to a pipe.

import (
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
)

var (
	kernel32             = windows.NewLazySystemDLL("kernel32.dll")
	procGetOEMCP         = kernel32.NewProc("GetOEMCP")
	procGetCPInfo        = kernel32.NewProc("GetCPInfo")
	procIsDBCSLeadByteEx = kernel32.NewProc("IsDBCSLeadByteEx")
)

const utf8CodePage = 65001

// asUTF8 returns a Sink that accepts text in UTF-8 or in the console's code page, and passes it on as UTF-8. flush
// passes on an unfinished character.
func asUTF8(to Sink) (sink Sink, flush func()) {
	d := NewDecoder(to, ConsoleCodePage)
	return d, d.Flush
}

// ConsoleCodePage returns the output code page of the console that commands share with this process. If this process
// has no console, it returns the system's OEM code page, because a command's own console uses that. It returns nil for
// UTF-8, and for a code page with characters of more than two bytes, which no console uses.
func ConsoleCodePage() *CodePage {
	if number, err := windows.GetConsoleOutputCP(); err == nil && number != 0 {
		return newCodePage(number)
	}
	number, _, _ := procGetOEMCP.Call()
	return newCodePage(uint32(number))
}

type cpInfo struct {
	MaxCharSize uint32
	DefaultChar [2]byte
	LeadByte    [12]byte
}

// newCodePage returns the code page with the given number. It returns nil if the system does not have it, if it is
// UTF-8, or if it has characters of more than two bytes.
func newCodePage(number uint32) *CodePage {
	var info cpInfo
	ok, _, _ := procGetCPInfo.Call(uintptr(number), uintptr(unsafe.Pointer(&info)))
	if ok == 0 || number == utf8CodePage || info.MaxCharSize > 2 {
		return nil
	}
	p := &CodePage{Pair: func(lead, trail byte) string { return decodeCharacter(number, []byte{lead, trail}) }}
	for i := range p.Single {
		b := byte(0x80 + i)
		if lead, _, _ := procIsDBCSLeadByteEx.Call(uintptr(number), uintptr(b)); lead == 0 {
			p.Single[i] = decodeCharacter(number, []byte{b})
		}
	}
	return p
}

// decodeCharacter returns the text of a character's bytes, or U+FFFD if they are invalid.
func decodeCharacter(codePage uint32, b []byte) string {
	var wide [4]uint16
	n, err := windows.MultiByteToWideChar(codePage, 0, &b[0], int32(len(b)), &wide[0], int32(len(wide)))
	if err != nil || n == 0 || wide[0] == 0 {
		return "\uFFFD"
	}
	return string(utf16.Decode(wide[:n]))
}
