package pipeline

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A sink is well when nothing failed for now since something succeeded. What it
// refuses for good says nothing of it; a Write that does both is not well.
func TestHealth(t *testing.T) {
	busy, bad := Transient(errors.New("busy")), errors.New("bad")
	synctest.Test(t, func(t *testing.T) {
		var h health
		for _, test := range []struct {
			name  string
			whole error
			errs  []error
			well  bool
		}{
			{"nothing yet", nil, nil, true},
			{"refused", bad, nil, true},
			{"busy", busy, nil, false},
			{"refused while busy", bad, []error{nil}, false},
			{"one refused", nil, []error{bad}, false},
			{"written", nil, []error{bad, nil}, true},
			{"partly busy", nil, []error{nil, busy}, false},
			{"written again", nil, []error{nil}, true},
			{"panicked", recovered("sink", "x"), []error{nil}, true},
		} {
			time.Sleep(time.Second)
			h.update(test.whole, test.errs)
			var r RouteInfo
			if r.Wrote, r.Failed = h.times(); r.Well() != test.well {
				t.Errorf("%s: well is %v: wrote %v, failed %v", test.name, r.Well(), r.Wrote, r.Failed)
			}
		}
	})
}
