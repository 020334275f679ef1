package sinks

import (
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/state"
)

// The errors of an archive without a prefix name its bucket, followed by one space. The recorded target has a space at
// its end.
func TestLostOutput_WithoutPrefix(t *testing.T) {
	target := Target(config.Sink{Name: "log", Archive: &config.Archive{Bucket: "shop-archive"}})
	for want, f := range map[string]foundOutput{
		"bucket shop-archive has the birth 'other', and the state knows nothing": {storedFingerprint: state.Fingerprint{Birth: "other"}},
		"bucket shop-archive held what the sink wrote":                           {hasBirth: true, birth: state.Birth{Begun: true}},
		"bucket shop-archive was recorded as 's'":                                {hasBirth: true, birth: state.Birth{Begun: true, Store: "s"}},
	} {
		f.sink, f.target = "log", target
		err := (&birthRecords{}).check(t.Context(), &f)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if f.target != "bucket shop-archive " {
			t.Errorf("the recorded target is %q", f.target)
		}
	}
}
