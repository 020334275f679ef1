package sinks

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
)

// The errors of an archive without a prefix name its bucket, followed by one space. The recorded target has a space at
// its end.
func TestLostOutput_WithoutPrefix(t *testing.T) {
	f := &foundOutput{sink: "log", target: Target(config.Sink{Name: "log", Archive: &config.Archive{Bucket: "shop-archive"}})}
	f.print.Birth = "other"
	for _, want := range []string{
		"bucket shop-archive has the birth 'other', and the state knows nothing",
		"bucket shop-archive held what the sink wrote",
		"bucket shop-archive was recorded as 's'",
	} {
		err := (&birthRecords{}).check(t.Context(), f)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		f.birth.Store = map[bool]string{false: "", true: "s"}[f.hasBirth]
		f.hasBirth, f.birth.Begun = true, true
	}
	if f.target != "bucket shop-archive " {
		t.Errorf("the recorded target is %q", f.target)
	}
}
