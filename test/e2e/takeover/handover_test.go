package takeover

import (
	"maps"
	"strings"
	"testing"
	"time"
)

// A function that is half an hour behind hands its stream to a consumer, and gets it back. The consumer starts ten
// minutes before the function's last record. Both of them handle some records, and no record is lost or counted twice.
// On a server without AT_TIMESTAMP the consumer reads from the oldest record.
func TestAStreamIsHandedOverFromAFunctionAndBack(t *testing.T) {
	t.Parallel()
	for name, unknown := range map[string]bool{"at a time": false, "without AT_TIMESTAMP": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHandover(t, unknown)
			h.write(t, backlog)
			f := h.function(t)
			last := h.clock.Now().Add(-30 * time.Minute)
			handled := h.deliver(t, f, last)
			h.clock.follow()

			c := h.consume(t, last.Add(-10*time.Minute))
			repeated := h.deliver(t, f, last.Add(15*time.Minute)) // then the mapping is disabled
			h.write(t, 60)
			h.awaitSame(t, c)

			h.enableAtLatest(t)
			h.write(t, 60)
			repeated += h.deliver(t, f, time.Now())
			h.awaitSame(t, c)
			read, before := c.stop(t), len(h.lines(t))
			h.write(t, 60)
			h.deliver(t, f, time.Now())
			if got, want := h.rows(t), h.model(); !maps.Equal(got, want) {
				t.Errorf("back at the function: %s", differences(got, want))
			}
			t.Logf("the function handled %d records, and %d beside the consumer, which read %d of %d",
				handled, repeated, read, before)
			// If the machine is too busy for heartbeats, the consumer reads the records after the checkpoint again.
			lapsed := strings.Contains(c.stderr.String(), "two thirds of the lease time")
			if handled == 0 || repeated == 0 || read < repeated || !lapsed && read > before-handled/2 {
				t.Error("the consumer did not read the part from that time on, or nothing was handled by both")
			}
		})
	}
}
