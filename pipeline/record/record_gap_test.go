package record_test

import (
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
)

func TestGap_Span(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		from, to time.Time
		want     time.Duration
	}{
		"unknown start":    {to: at},
		"unknown end":      {from: at},
		"the same second":  {from: at, to: at},
		"the next second":  {from: at, to: at.Add(time.Second)},
		"clocks that jump": {from: at, to: at.Add(-time.Hour)},
		"a minute":         {from: at, to: at.Add(time.Minute), want: 59 * time.Second},
	} {
		if got := (record.Gap{From: tt.from, To: tt.to}).Span(); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}
