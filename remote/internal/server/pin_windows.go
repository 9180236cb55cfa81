package server

// The parts of a pin on Windows.

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// identify returns the identity of a file.
func identify(path string) (identity, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return identity{}, err
	}
	// Opening a directory requires FILE_FLAG_BACKUP_SEMANTICS.
	handle, err := windows.CreateFile(name, windows.FILE_READ_ATTRIBUTES,
		windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE, nil, windows.OPEN_EXISTING,
		windows.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return identity{}, err
	}
	defer windows.CloseHandle(handle)
	var info windows.ByHandleFileInformation
	if err := windows.GetFileInformationByHandle(handle, &info); err != nil {
		return identity{}, err
	}
	return identity{
		inode:    fmt.Sprint(info.VolumeSerialNumber, ":", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow)),
		size:     int64(info.FileSizeHigh)<<32 | int64(info.FileSizeLow),
		modified: fmt.Sprint(info.LastWriteTime.Nanoseconds()), born: fmt.Sprint(info.CreationTime.Nanoseconds()),
	}, nil
}
