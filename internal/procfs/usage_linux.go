package procfs

// The resources, the command line and the sockets of a process, on Linux.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Usage has the resources and the terminal of a process, from its entry in the process table.
type Usage struct {
	Process
	CPU      time.Duration // of the process, and of its children that it has waited for
	Memory   int64         // resident, in bytes
	Runnable bool          // its main thread has a processor, or waits for one

	terminal   int // the device number of its controlling terminal, or 0
	foreground int // the process group in that terminal's foreground
}

// Usage returns the entry of the process with its use of resources. It fails as Process does.
func (h Handle) Usage() (u Usage, err error) {
	var line [2 << 10]byte
	n, err := h.read("stat", line[:])
	if err != nil {
		return u, err
	}
	if u.Process, err = parseStat(line[:n]); err != nil {
		return u, err
	}
	_, fields, err := splitStat(line[:n])
	if err != nil {
		return u, err
	}
	u.Runnable = fields[fieldState] == "R"
	const tick = time.Second / 100 // USER_HZ
	for field := fieldCPU; field < fieldCPU+4; field++ {
		u.CPU += time.Duration(fields.number(field)) * tick
	}
	u.Memory = int64(fields.number(fieldResident)) * int64(os.Getpagesize())
	u.terminal, u.foreground = fields.number(fieldTerminal), fields.number(fieldForeground)
	return u, nil
}

// Command returns the process's arguments, separated by spaces, cut after max bytes. A process may have changed them.
func (h Handle) Command(max int) (string, error) {
	fd, err := open(h.dir, "cmdline", 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	line := make([]byte, max)
	n, err := retry(func() (int, error) { return unix.Read(fd, line) })
	if err != nil {
		return "", err
	}
	text := bytes.ReplaceAll(bytes.TrimRight(line[:n], "\x00"), []byte{0}, []byte{' '})
	return strings.ToValidUTF8(string(text), ""), nil
}

// Sockets returns the inodes of the sockets that the process has open. It fails if its open files cannot be read.
func (h Handle) Sockets() (inodes []uint64, err error) {
	err = h.openFiles(func(_ int, _, link string) (more bool) {
		if number, ok := strings.CutPrefix(link, "socket:["); ok {
			if inode, err := strconv.ParseUint(strings.TrimSuffix(number, "]"), 10, 64); err == nil {
				inodes = append(inodes, inode)
			}
		}
		return true
	})
	return inodes, err
}

// Listeners returns the addresses of this user's TCP sockets that listen in the network namespace of this process, by
// their inodes.
func Listeners() (map[uint64]netip.AddrPort, error) {
	found := make(map[uint64]netip.AddrPort)
	for _, path := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		err := readListeners(path, found)
		if err != nil && !errors.Is(err, os.ErrNotExist) { // without IPv6, there is no tcp6
			return nil, err
		}
	}
	return found, nil
}

// readListeners reads the beginning of a table of sockets: the kernel lists those that listen before all others.
func readListeners(path string, to map[uint64]netip.AddrPort) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewReaderSize(file, 4<<10) // not many of the others
	if _, err := lines.ReadString('\n'); err != nil {
		return nil // without its head, the table is empty
	}
	for {
		line, err := lines.ReadString('\n')
		inode, address, mine, listens := parseListener(line)
		switch {
		case err == io.EOF, err == nil && !listens:
			return nil
		case err != nil:
			return err
		}
		if mine {
			to[inode] = address
		}
	}
}

// parseListener parses "sl: local remote state queues timer retransmits uid timeout inode …".
func parseListener(line string) (inode uint64, address netip.AddrPort, mine, listens bool) {
	const local, state, user, inodeField, listen = 1, 3, 7, 9, "0A" // TCP_LISTEN
	fields := strings.Fields(line)
	if len(fields) <= inodeField || fields[state] != listen {
		return 0, address, false, false
	}
	host, port, _ := strings.Cut(fields[local], ":")
	words, err := hex.DecodeString(host)
	number, portErr := strconv.ParseUint(port, 16, 16)
	inode, inodeErr := strconv.ParseUint(fields[inodeField], 10, 64)
	if err != nil || portErr != nil || inodeErr != nil || len(words)%4 != 0 {
		return 0, address, false, true
	}
	for word := words; len(word) > 0; word = word[4:] { // printed as numbers, which are in network order in memory
		binary.NativeEndian.PutUint32(word, binary.BigEndian.Uint32(word))
	}
	ip, ok := netip.AddrFromSlice(words)
	return inode, netip.AddrPortFrom(ip, uint16(number)), ok && fields[user] == strconv.Itoa(os.Geteuid()), true
}
