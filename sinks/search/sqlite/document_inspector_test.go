package sqlite_test

import (
	"testing"
)

// ReadStored returns tombstones too, although readers never see them. The result is empty if the document or the index
// does not exist.
func TestStands(t *testing.T) {
	s := open(t, t.TempDir())
	apply(t, s, mutation("live", 5, `{"v":5}`), mutation("gone", 6, `{"v":6}`), tombstone("gone", 7))
	for _, test := range []struct {
		index, id        string
		there, tombstone bool
		version          int
		doc              string
	}{
		{"docs", "live", true, false, 5, `{"v":5}`},
		{"docs", "gone", true, true, 7, ""},
		{"docs", "never", false, false, 0, ""},
		{"none", "live", false, false, 0, ""},
	} {
		got, err := s.ReadStored(t.Context(), test.index, test.id, "")
		if err != nil {
			t.Fatal(err)
		}
		want := mutation(test.id, test.version, "").Version
		if !test.there {
			if got.Exists || !got.Version.IsZero() {
				t.Errorf("%s/%s: %+v, want nothing", test.index, test.id, got)
			}
			continue
		}
		if !got.Exists || got.Tombstone != test.tombstone || got.Version != want || string(got.Doc) != test.doc {
			t.Errorf("%s/%s: %+v", test.index, test.id, got)
		}
	}
}
