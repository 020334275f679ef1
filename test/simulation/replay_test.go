package simulation

import "testing"

// A seed brings the same run, byte for byte.
func TestReplay(t *testing.T) {
	for n := range uint64(10) {
		for _, m := range mixes {
			p := NewPlan(n, m)
			a, b := Run(p, Worker, true), Run(p, Worker, true)
			if a.Story != b.Story {
				t.Fatalf("seed %d of mix %s brings two stories", n, m)
			}
		}
	}
}
