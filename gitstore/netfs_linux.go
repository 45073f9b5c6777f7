package gitstore

import "syscall"

// onNetwork reports whether dir lies on a network file system, where locks may
// not hold (gitstore.md section 2).
func onNetwork(dir string) bool {
	const nfs, smb, cifs, smb2, afs = 0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x5346414f
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return false
	}
	switch uint32(stat.Type) {
	case nfs, smb, cifs, smb2, afs:
		return true
	}
	return false
}
