package coordinator

import (
	"testing"

	"github.com/tablewake/tablewake/pipeline/record"
)

// Pages are requested in four phases, draining is the last phase, and a gap is kept while its end is sought.
func TestPhase_Enter(t *testing.T) {
	requests := map[phase]bool{reading: true, probing: true, afterGap: true, stoppedAtGap: true}
	for ph := reading; ph <= draining; ph++ {
		if ph.allowsRequests() != requests[ph] {
			t.Errorf("phase %d requests pages: %v", ph, ph.allowsRequests())
		}
		a := &assignment{gap: &record.Gap{}}
		a.enter(ph)
		if over := ph == reading || ph == stopped || ph == ended; (a.gap == nil) != over {
			t.Errorf("phase %d has a gap: %v", ph, a.gap != nil)
		}
		a.enter(draining)
		if a.enter(ph); a.phase != draining {
			t.Errorf("phase %d follows draining", a.phase)
		}
	}
}
