package columnar

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"
)

// written returns an object with rows, and the digest of the rows.
func written(t interface{ Fatal(...any) }, extra []string, plain bool, rows []Row) ([]byte, []byte) {
	var out bytes.Buffer
	w := NewWriter(&out, extra, plain)
	for _, r := range rows {
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), w.Digest()
}

// open opens an object whose last tail bytes are already loaded. It sets most to the largest number of bytes that the
// reader fetches at once.
func open(object []byte, tail int, most *int64) (*Reader, error) {
	return Open(context.Background(), int64(len(object)), object[max(0, len(object)-tail):], func(_ context.Context, offset, n int64) ([]byte, error) {
		if most != nil {
			*most = max(*most, n)
		}
		return object[offset : offset+n], nil
	})
}

func readAll(r *Reader) ([]Row, error) {
	var rows []Row
	for {
		row, err := r.Next(context.Background())
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return rows, err
		}
		rows = append(rows, slices.Clone(row))
	}
}

func set(s string) Cell { return Cell{Text: []byte(s), Set: true} }

func row(key string, n int) Row {
	r := make(Row, Fields)
	r[Key], r[Version], r[Op], r[Kind] = set(key), set(fmt.Sprintf("%050d", n)), set("MODIFY"), set("change")
	return r
}

func equalRows(a, b Row) bool {
	return slices.EqualFunc(a, b, func(x, y Cell) bool { return x.Set == y.Set && x.Int == y.Int && bytes.Equal(x.Text, y.Text) })
}

// Rows are read back unchanged, whatever their cells contain, and the same rows make the same bytes.
func TestRowsAreReadBack(t *testing.T) {
	cell := rapid.Custom(func(t *rapid.T) Cell {
		if rapid.Bool().Draw(t, "null") {
			return Cell{}
		}
		return set(rapid.String().Draw(t, "text"))
	})
	rapid.Check(t, func(t *rapid.T) {
		extra := rapid.SampledFrom([][]string{nil, {"tenant"}, {"b", "a"}}).Draw(t, "extra")
		plain := rapid.Bool().Draw(t, "plain")
		var rows []Row
		for i := range rapid.IntRange(1, 60).Draw(t, "rows") {
			r := append(row("k", i), make(Row, len(extra))...)
			for at := range r {
				switch {
				case at < Fields && fixed[at].required:
				case Field(at) == Time || Field(at) == Size:
					if rapid.Bool().Draw(t, "set") {
						r[at] = Cell{Int: rapid.Int64().Draw(t, "int"), Set: true}
					}
				default:
					r[at] = cell.Draw(t, "cell")
				}
			}
			rows = append(rows, r)
		}
		object, digest := written(t, extra, plain, rows)
		again, same := written(t, extra, plain, rows)
		if !bytes.Equal(object, again) || !bytes.Equal(digest, same) {
			t.Fatal("the same rows make other bytes")
		}
		r, err := open(object, rapid.SampledFrom([]int{8, 100, 1 << 20}).Draw(t, "tail"), nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := readAll(r)
		if err != nil || !slices.EqualFunc(got, rows, equalRows) || r.Plain() != plain || !slices.Equal(r.Extra(), extra) {
			t.Fatalf("read back %v (%v), want %v", got, err, rows)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		sum := NewDigest(extra, plain)
		for _, row := range got {
			sum.Add(row)
			b := row.Append(nil)
			parsed, err := ParseRow(b, len(extra))
			if err != nil || !equalRows(parsed, row) {
				t.Fatalf("%v is parsed as %v (%v)", row, parsed, err)
			}
			for _, bad := range [][]byte{b[:len(b)-1], append(b[:len(b):len(b)], 0)} {
				if parsed, err := ParseRow(bad, len(extra)); err == nil {
					t.Fatalf("bytes that are no row are parsed as %v", parsed)
				}
			}
		}
		if !bytes.Equal(sum.Sum(), digest) {
			t.Fatal("rows that are read back have another digest")
		}
	})
}

// The digest covers the whole content of rows, so different rows have different digests.
func TestDigest(t *testing.T) {
	seen := make(map[string]string)
	add := func(name string, extra []string, plain bool, rows ...Row) {
		_, digest := written(t, extra, plain, rows)
		if other, ok := seen[string(digest)]; ok {
			t.Errorf("%s and %s have one digest", name, other)
		}
		seen[string(digest)] = name
	}
	with := func(f Field, c Cell) Row {
		r := row("a", 1)
		r[f] = c
		return r
	}
	add("one", nil, false, row("a", 1))
	add("plain", nil, true, row("a", 1))
	add("two", nil, false, row("a", 1), row("a", 2))
	add("old", nil, false, with(Old, set("{}")))
	add("new", nil, false, with(New, set("{}")))
	add("empty", nil, false, with(Table, set("")))
	add("time", nil, false, with(Time, Cell{Int: 1, Set: true}))
	add("size", nil, false, with(Size, Cell{Int: 1, Set: true}))
	add("column", []string{"x"}, false, append(row("a", 1), Cell{}))
	add("other column", []string{"y"}, false, append(row("a", 1), Cell{}))
}

// The row groups of a large object have a limited size, and the reader fetches at most one of them at once. The footer
// does not repeat the images.
func TestRowGroups(t *testing.T) {
	var rows []Row
	noise := make([]byte, 400<<10)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range noise {
		noise[i] = 'a' + byte(random.IntN(23))
	}
	for i := range 60 {
		r := row(fmt.Sprintf("k%02d", i), i)
		r[New] = set(`{"x":{"S":"` + string(noise[i:]) + string(noise[:i]) + `"}}`)
		rows = append(rows, r)
	}
	object, _ := written(t, nil, false, rows)
	var most int64
	r, err := open(object, TailBytes, &most)
	if err != nil {
		t.Fatal(err)
	}
	if groups := len(r.groups); groups != 3 {
		t.Errorf("%d row groups, want 3", groups)
	}
	got, err := readAll(r)
	if err != nil || !slices.EqualFunc(got, rows, equalRows) {
		t.Fatalf("read back %d rows (%v)", len(got), err)
	}
	if most > groupBytes+1<<20 || most == 0 {
		t.Errorf("%d bytes were fetched at once", most)
	}
	if footer := binary.LittleEndian.Uint32(object[len(object)-8:]); footer > 20<<10 {
		t.Errorf("the footer has %d bytes: it repeats images", footer)
	}
}

// Engines skip pages by the bounds in the column index, so bounds must never rule out a value of their page. The bounds
// of keys and versions are exact. The bounds of other columns may be wider.
func TestBounds(t *testing.T) {
	var rows []Row
	for i := range 4000 {
		r := row(fmt.Sprintf("k%05d", i), i)
		if i < 3000 {
			r[New] = set(`{"x":{"S":"` + strings.Repeat("é", 100) + `"}}`)
		}
		rows = append(rows, r)
	}
	object, _ := written(t, nil, false, rows)
	f, err := parquet.OpenFile(bytes.NewReader(object), int64(len(object)))
	if err != nil {
		t.Fatal(err)
	}
	for g, group := range f.RowGroups() {
		sorting := group.SortingColumns()
		if len(sorting) != 2 || sorting[0].Path()[0] != "key" || sorting[1].Path()[0] != "version" {
			t.Errorf("row group %d is sorted by %v", g, sorting)
		}
		for _, chunk := range group.ColumnChunks() {
			checkBounds(t, f.Schema().Columns()[chunk.Column()][0], chunk)
		}
	}
}

func checkBounds(t *testing.T, name string, chunk parquet.ColumnChunk) {
	t.Helper()
	index, err := chunk.ColumnIndex()
	if err != nil {
		t.Fatal(err)
	}
	pages := chunk.Pages()
	defer pages.Close()
	for i := 0; ; i++ {
		page, err := pages.ReadPage()
		if errors.Is(err, io.EOF) {
			if i != index.NumPages() {
				t.Errorf("%s: %d pages, %d in the index", name, i, index.NumPages())
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		least, most, some := page.Bounds()
		if index.NullPage(i) == some {
			t.Errorf("%s, page %d: the index says that it is empty: %v", name, i, index.NullPage(i))
		}
		compare := page.Type().Compare
		if some && (compare(index.MinValue(i), least) > 0 || compare(index.MaxValue(i), most) < 0) {
			t.Errorf("%s, page %d: bounds %.20s to %.20s rule out %.20s to %.20s", name, i, index.MinValue(i), index.MaxValue(i), least, most)
		}
		if (name == "key" || name == "version") && (compare(index.MinValue(i), least) != 0 || compare(index.MaxValue(i), most) != 0) {
			t.Errorf("%s, page %d: bounds are not those of its values", name, i)
		}
		parquet.Release(page)
	}
}

// Opening something that is not an object of an archive returns an error, and reading a damaged object never panics.
func TestForeign(t *testing.T) {
	object, _ := written(t, nil, false, []Row{row("a", 1), row("b", 2)})
	var other bytes.Buffer
	w := parquet.NewGenericWriter[struct{ Key string }](&other)
	if _, err := w.Write([]struct{ Key string }{{"a"}}); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, b := range map[string][]byte{"empty": nil, "text": []byte("some text that is long enough"), "other": other.Bytes(), "cut": object[:len(object)-9]} {
		if _, err := open(b, TailBytes, nil); !errors.Is(err, errForeign) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for at := 0; at < len(object); at += 13 {
		damaged := bytes.Clone(object)
		damaged[at] ^= 0x55
		r, err := open(damaged, TailBytes, nil)
		if err != nil {
			continue
		}
		_, _ = readAll(r)
	}
}
