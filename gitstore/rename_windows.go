package gitstore

import (
	"os"
	"time"
)

// renameOver renames a file over another one, trying for a second while a
// reader holds that one open (R-WIN-2).
func renameOver(from, to string) error {
	var err error
	for range 50 {
		if err = os.Rename(from, to); err == nil {
			return nil
		}
		time.Sleep(20 * time.Millisecond)
	}
	return err
}
