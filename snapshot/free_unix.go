//go:build linux || darwin

package snapshot

import "syscall"

// Free implements FS.
func (d Dir) Free() (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(string(d), &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil
}
