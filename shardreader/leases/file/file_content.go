package file

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/leases"
	"github.com/tablewake/tablewake/sinks/state"
)

// Format is the version of the file's format.
const Format = 2

// document is the JSON of the file.
type document struct {
	Version  int         `json:"version"`
	Pipeline string      `json:"pipeline"`
	Begun    []string    `json:"begun,omitempty"` // ARNs of streams
	Leases   []leaseRow  `json:"leases"`
	Members  []memberRow `json:"members"`
	Gaps     []gapRow    `json:"gaps"`
}

// encode returns the new content of the file: one line per lease, member and gap.
func (t *Table) encode() ([]byte, error) {
	s, err := t.rows.ReadShards(context.Background(), t.lines.outdatedShards())
	if err != nil {
		return nil, err
	}
	if err := t.lines.encodeOutdated(s.Leases); err != nil {
		return nil, err
	}
	var b writer
	b.Grow(t.fileBytes + t.fileBytes/8)
	fmt.Fprintf(&b, "{\n\"version\": %d,\n\"pipeline\": ", Format)
	b.writeValue(t.pipelineName)
	if len(s.BegunStreams) > 0 {
		b.WriteString(",\n\"begun\": ")
		b.writeValue(s.BegunStreams)
	}
	b.WriteString(",\n\"leases\": [")
	for i, shard := range t.lines.shards {
		b.beginElement(i)
		b.Write(t.lines.json[shard])
	}
	b.WriteString("\n],\n\"members\": [")
	for i, m := range s.Members {
		b.beginElement(i)
		b.writeValue(newMemberRow(m))
	}
	b.WriteString("\n],\n\"gaps\": [")
	for i, g := range t.gaps {
		b.beginElement(i)
		b.writeValue(newGapRow(g))
	}
	b.WriteString("\n]\n}\n")
	t.fileBytes = b.Len()
	return b.Bytes(), b.err
}

// writer writes JSON values. It keeps the first error.
type writer struct {
	bytes.Buffer
	err error
}

func (b *writer) writeValue(v any) {
	text, err := json.Marshal(v)
	b.Write(text)
	b.err = cmp.Or(b.err, err)
}

// beginElement begins the line of element i of a list.
func (b *writer) beginElement(i int) {
	if i > 0 {
		b.WriteByte(',')
	}
	b.WriteByte('\n')
}

// contents is the parsed content of a file.
type contents struct {
	pipeline string
	snapshot leases.Snapshot
	gaps     []state.NotedGap
}

// load reads a file. A missing file has empty contents.
func load(path string) (contents, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return contents{}, nil
	}
	if err != nil {
		return contents{}, err
	}
	c, err := parse(b)
	if err != nil {
		return contents{}, errs.Errorf(
			"%s is not a file of leases: %w: restore it from a copy, or move it away to begin anew at source.start",
			redact.Safe(path), err)
	}
	return c, nil
}

// leases returns the leases of the file. It returns an error if a shard has two of them.
func (d *document) leases() ([]leases.Lease, error) {
	var found []leases.Lease
	shards := make(map[string]bool)
	for _, row := range d.Leases {
		l, err := row.lease()
		if err != nil {
			return nil, err
		}
		if shards[l.Shard] {
			return nil, errs.Errorf("the shard %q has two leases", redact.Safe(l.Shard))
		}
		shards[l.Shard] = true
		found = append(found, l)
	}
	return found, nil
}

func parse(b []byte) (contents, error) {
	var d document
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return contents{}, err
	}
	if dec.More() {
		return contents{}, errs.Errorf("there is more behind byte %d", dec.InputOffset())
	}
	if d.Version != Format {
		return contents{}, errs.Errorf("its version is %d, and this program reads %d", d.Version, Format)
	}
	c := contents{pipeline: d.Pipeline}
	var err error
	if c.snapshot.Leases, err = d.leases(); err != nil {
		return contents{}, err
	}
	for _, row := range d.Members {
		c.snapshot.Members = append(c.snapshot.Members, row.member())
	}
	for _, row := range d.Gaps {
		if err := row.Repair.Check(); err != nil {
			return contents{}, err
		}
		c.gaps = append(c.gaps, row.notedGap())
	}
	c.snapshot.BegunStreams = d.Begun
	c.snapshot.Sort()
	slices.SortFunc(c.gaps, func(a, b state.NotedGap) int { return compareGaps(a, b.Gap) })
	return c, nil
}
