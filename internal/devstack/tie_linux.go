package devstack

import "syscall"

// tieToParent makes the kernel send sig to the child when the thread that starts it ends, at the latest with this
// process. The starting goroutine must stay locked to its thread for as long as the child is to live.
func tieToParent(attr *syscall.SysProcAttr, sig syscall.Signal) {
	attr.Pdeathsig = sig
}
