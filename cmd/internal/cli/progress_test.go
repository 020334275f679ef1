package cli

import (
	"testing"
	"time"
)

func TestProgressLine(t *testing.T) {
	for _, c := range []struct {
		done, total, records int64
		took                 time.Duration
		want                 string
	}{
		{250, 1000, 5000, 10 * time.Second, " 25% 5,000 records, 500 a second, 30s left"},
		{1000, 1000, 20000, 40 * time.Second, "100% 20,000 records, 500 a second, 0s left"},
		{1200, 1000, 20000, 40 * time.Second, "20,000 records, 500 a second"}, // the total was an estimate
		{1200, 0, 20000, 40 * time.Second, "20,000 records, 500 a second"},
		{0, 1000, 0, 5 * time.Second, "0 records, 0 a second"},
		{0, 0, 0, 0, "0 records, 0 a second"},
	} {
		if got := progressLine(c.done, c.total, c.records, c.took); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
