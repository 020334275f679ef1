package dynamo

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/sinks/state"
)

// Writes with a common item or row are in one group, in order. A write can also connect two others that have nothing in
// common.
func TestTogether(t *testing.T) {
	for writes, want := range map[string]string{
		"":                    "[]",
		"a:x":                 "[[0]]",
		"a:x b:y c:z":         "[[0] [1] [2]]",
		"a:x b:x c:y":         "[[0 1] [2]]",
		"a:x a:y b:y":         "[[0 1 2]]",
		"a:x b:y c:xy d:z":    "[[0 1 2] [3]]",
		"a:x b:y c:z d:yz a:": "[[0 4] [1 2 3]]",
		"x:a a:b b:x":         "[[0] [1] [2]]", // an item and a row of the same name are different
	} {
		var ws []state.ItemWrite
		for _, w := range strings.Fields(writes) {
			image, rows, _ := strings.Cut(w, ":")
			iw := state.ItemWrite{Source: item.Key(image)}
			for _, r := range rows {
				iw.Rows = append(iw.Rows, state.RowClaimsWrite{Row: state.Row(r)})
			}
			ws = append(ws, iw)
		}
		if got := fmt.Sprint(connectedWrites(ws)); got != want {
			t.Errorf("%s: %s, want %s", writes, got, want)
		}
	}
}
