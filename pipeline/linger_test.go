package pipeline

import (
	"strings"
	"testing"
	"time"
)

// A live pipeline refuses a batch that may wait longer than MaxLinger.
func TestMaxLinger(t *testing.T) {
	for _, tt := range []struct {
		batch Batch
		live  bool
		ok    bool
	}{
		{Batch{}, true, true},
		{Batch{Linger: MaxLinger}, true, true},
		{Batch{Linger: MaxLinger, Fill: true}, true, true},
		{Batch{Linger: MaxLinger + 1}, true, false},
		{Batch{Fill: true}, true, false},
		{Batch{Fill: true}, false, true},
		{Batch{Linger: 24 * time.Hour}, false, true},
	} {
		_, err := New(Options{Name: "p", Live: tt.live, Routes: []Route{{Name: "slow", Sink: &recorder{}, Batch: tt.batch}}})
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), `route "slow"`) {
			t.Errorf("%+v, live %v: %v", tt.batch, tt.live, err)
		}
	}
}
