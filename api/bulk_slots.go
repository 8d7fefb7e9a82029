package api

import "sync"

// slots bounds how many bulk requests run at once, and with them their memory: in all, and of one tenant, so that one can't
// keep the others out.
type slots struct {
	all, each int

	mu    sync.Mutex
	taken map[string]int // by tenant
	sum   int
}

func newSlots(all, each int) *slots { return &slots{all: all, each: each, taken: map[string]int{}} }

// take reserves a slot for the tenant; false when there is none.
func (s *slots) take(tenant string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sum >= s.all || s.taken[tenant] >= s.each {
		return false
	}
	s.sum++
	s.taken[tenant]++
	return true
}

func (s *slots) release(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sum--
	if s.taken[tenant]--; s.taken[tenant] == 0 {
		delete(s.taken, tenant)
	}
}
