package replay

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// An element without an end costs no later record, even if the end of the array or event around it closes it.
func TestSource_ElementsWithoutTheirEnd(t *testing.T) {
	records := recordsJSON(0, 6)
	for _, broken := range []string{"[1,2,", `{"foo":[1,`, "[1,2,\n[3,", `[{"a":1},`, `{"foo":[`, `["x",`} {
		for _, end := range []string{"]}", "]", "]]", "]]}"} {
			text := "{\"Records\":[\n" + records[0] + ",\n" + broken + "\n" + strings.Join(records[1:], ",\n") + "\n" + end + "\n"
			path := filepath.Join(write(t, map[string]string{"f": text}), "f")
			g := readAll(t, open(t, Options{Paths: []string{path}}))
			var got []string
			for _, s := range g.sequences {
				if s != "!" {
					got = append(got, s)
				}
			}
			if diff := cmp.Diff(numbers(0, 6), got); diff != "" || len(g.errs) == 0 {
				t.Errorf("%s closed by %s: %v, %v (-want +got):\n%s", broken, end, g.errs, g.err, diff)
			}
		}
	}
}

// Reading elements without their ends, each within the one before it, takes no longer
// than broken lines of the same size do, but for a factor.
func TestSource_NestedElementsInLinearTime(t *testing.T) {
	records := strings.Join(recordsJSON(0, 2000), ",\n")
	for _, unclosed := range []string{"[1,\n", "{\"foo\":[1,\n", "[{\"a\":1},\n"} {
		took := func(text string) (shortest time.Duration) {
			for i := range 3 {
				d := documents{w: &window{r: strings.NewReader(text), blockBytes: 1 << 20, maxRecord: maxRecordBytes, line: 1}, nesting: betweenDocuments}
				began := time.Now()
				for {
					if _, err := d.next(); errors.Is(err, io.EOF) {
						break
					} else if err != nil {
						t.Fatal(err)
					}
				}
				if d := time.Since(began); i == 0 || d < shortest {
					shortest = d
				}
			}
			return shortest
		}
		nest := func(n int, line, end string) string {
			return "{\"Records\":[\n" + strings.Repeat(line, n) + records + strings.Repeat(end, n) + "\n]}\n"
		}
		closing := "]"
		if unclosed[0] == '{' {
			closing = "]}"
		}
		for what, texts := range map[string][2]string{
			"closed by others": {nest(1, unclosed, closing), nest(400, unclosed, closing)},
			"never closed":     {nest(30000, "x,\n", ""), nest(30000, unclosed, "")},
		} {
			if plain, nested := took(texts[0]), took(texts[1]); nested > 25*plain {
				t.Errorf("%q, %s: %v, and %v where nothing is nested", unclosed, what, nested, plain)
			}
		}
	}
}
