//go:build !linux

package devstack

import "syscall"

// tieToParent does nothing: only Linux can tell a child of its parent's death. A server left over by a crash is found by
// the next start.
func tieToParent(*syscall.SysProcAttr, syscall.Signal) {}
