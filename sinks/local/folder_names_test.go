package local_test

import (
	"path/filepath"
	"testing"

	"github.com/tablewake/tablewake/sinks/local"
)

func TestDir(t *testing.T) {
	d := local.Dir("out")
	for got, want := range map[string]string{
		d.Views():                 filepath.Join("out", "views.db"),
		d.Archive("shop-archive"): filepath.Join("out", "archive", "shop-archive"),
		d.Events("on_completed"):  filepath.Join("out", "events", "on_completed.jsonl"),
		d.DeadLetters():           filepath.Join("out", "dead"),
		d.Archive("../up"):        filepath.Join("out", "archive", "..%2Fup"),
		d.Archive(".."):           filepath.Join("out", "archive", "%2E%2E"),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
