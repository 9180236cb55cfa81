package audit

import (
	"io/fs"
	"os"
)

const openFlags = 0

// keepFromOthers does nothing: the file has the rights of its directory.
func keepFromOthers(*os.File, fs.FileInfo) error { return nil }
