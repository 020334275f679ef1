package item_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tablewake/tablewake/pipeline/internal/pipelinetest"
	"github.com/tablewake/tablewake/pipeline/item"
	"github.com/tablewake/tablewake/pipeline/record"
)

// TestAttributesFarApart checks that names and white space of any length are read like short ones.
func TestAttributesFarApart(t *testing.T) {
	for _, n := range []int{0, 1, 200, 254, 255, 256, 257, 70_000} {
		name, escaped, gap := strings.Repeat("n", n), strings.Repeat(`\u00e9`, n/6), strings.Repeat(" ", n)
		it := func(value string) string {
			return fmt.Sprintf(`{"a":{"S":"first"},%[1]s"%[2]s"%[1]s:%[1]s{%[1]s"S"%[1]s:%[1]s"%[3]s"%[1]s}%[1]s,"x%[4]s":{"N":"1"},"m":{"M":{"%[2]s":{"L":[]},"x%[2]s":{"NULL":true}}},%[1]s"set":{"SS":["%[2]s","y"]},"last":{"BOOL":false}%[1]s}`, gap, name, value, escaped)
		}
		rec := fmt.Sprintf(`{"eventName":"MODIFY","dynamodb":{"Keys":{"a":{"S":"first"}},"SequenceNumber":"1","NewImage":%s,"OldImage":%s}}`, it("new"), it("old"))
		page, err := record.NewDecoder(record.DecoderOptions{EpochZero: true}).Decode([]byte(rec))
		if err != nil || len(page.Changes) != 1 {
			t.Fatalf("%d: %v %v", n, err, page.Errors)
		}
		c := &page.Changes[0]
		for value, m := range map[string]item.Image{"new": c.New, "old": c.Old, "clone": c.Clone().New} {
			pipelinetest.CheckImage(t, m)
			if v, _ := m.Get(name); !isText(v, strings.ReplaceAll(value, "clone", "new")) {
				t.Errorf("%d: %s image: the attribute holds %v", n, value, v.Kind())
			}
			if v, _ := m.Get("x" + strings.Repeat("é", n/6)); v.Kind() != item.KindN {
				t.Errorf("%d: the escaped name leads to %v", n, v.Kind())
			}
			if v, _ := m.Get("last"); v.Kind() != item.KindBOOL || m.Len() != 6 {
				t.Errorf("%d: the last attribute is %v, of %d", n, v.Kind(), m.Len())
			}
		}
		if d := item.Diff(c.Old, c.New); len(d) != 1 || !isText(d[0].New, "new") {
			t.Errorf("%d: %d differences", n, len(d))
		}
		again := it("new")
		for _, twice := range []string{name, "set"} {
			b := fmt.Sprintf(`%s,"%s":{"S":"again"}}`, again[:len(again)-1], twice)
			if _, err := item.Parse([]byte(b)); err == nil || !strings.Contains(err.Error(), "named twice") {
				t.Errorf("%d: a name that occurs twice: %v", n, err)
			}
		}
	}
}

func isText(v item.Value, want string) bool {
	text, ok := v.Text()
	return ok && text == want
}
