package handoff

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/sinks/sinktest"
)

// part is a part of a snapshot: some items of one layer. It is read at least once.
type part struct {
	layer int
	items []int
	reads int
}

// layer is a scan or one export. The first layer has the items of the table at a time. Each later layer has the changes
// since the previous layer.
type layer struct {
	at        int64 // milliseconds
	newImages bool  // an incremental export without old images
}

// makeParts splits each layer into parts.
func (w *World) makeParts() {
	for n := range w.layers {
		for p := range parts {
			one := &part{layer: n}
			for i := range w.table.now {
				if i%parts == p {
					one.items = append(one.items, i)
				}
			}
			w.parts = append(w.parts, one)
		}
	}
}

// parts is the number of parts of a layer.
const parts = 2

// readPart reads a part, and returns its changes.
func (w *World) readPart(p *part) []*record.Change {
	p.reads++
	w.tell("the backfill reads layer %d, items %v", p.layer, p.items)
	var cs []*record.Change
	for _, item := range p.items {
		c := w.readItem(p.layer, item)
		if c == nil {
			continue
		}
		if w.rules.Head {
			c.Version = w.version(epoch, sequence(len(w.table.writes)))
		}
		cs = append(cs, c)
	}
	return cs
}

// readItem returns the line that layer n has for an item, decoded; nil if there is none.
func (w *World) readItem(n, item int) *record.Change {
	at := w.now // the time of a scan
	if !w.scan {
		at = w.layers[n].at
	}
	if w.rules.StaleScan {
		at = max(at-w.between(0, 20*second), 0)
	}
	is := w.table.state(item, at)
	if n == 0 {
		if is == nil {
			return nil
		}
		c := w.decodeLine(0, map[string]any{"Item": is.attributes(item)})
		w.tell("  %s is %s", keyOf(item), is)
		return c
	}
	from := w.layers[n-1].at
	if w.rules.LayersApart {
		from += (at - from) / 2
	}
	last := w.table.lastWrite(item, from, at)
	if last == nil {
		return nil
	}
	was := w.table.state(item, from)
	line := map[string]any{
		"Metadata": map[string]any{"WriteTimestampMicros": sinktest.Attr{"N": strconv.FormatInt(epoch*1_000_000+last.at*1000, 10)}},
		"Keys":     keys(item),
	}
	if is != nil {
		line["NewImage"] = is.attributes(item)
	}
	if was != nil && !w.layers[n].newImages {
		line["OldImage"] = was.attributes(item)
	}
	w.tell("  %s was %s, is %s", keyOf(item), was, is)
	c := w.decodeLine(n, line)
	switch {
	case w.rules.LayersAtZero:
		c.Version = w.version(int64(c.Version.Epoch()), "0")
	case w.rules.LayersAsItems && c.New.Exists():
		c.Op, c.EventName, c.Time = record.Snapshot, "SNAPSHOT", time.Time{}
	}
	return c
}

// decodeLine decodes a line of an export.
func (w *World) decodeLine(n int, line map[string]any) *record.Change {
	text, err := json.Marshal(line)
	if err != nil {
		w.failf("a line does not encode: %v", err)
	}
	o := record.SnapshotOptions{DecoderOptions: record.DecoderOptions{StreamARN: sinktest.StreamARN}, Keys: []string{"PK", "SK"}, Layer: n}
	if w.unknown {
		o.DecoderOptions = record.DecoderOptions{EpochZero: true, Table: sinktest.Table}
	}
	if w.layers[n].newImages {
		o.ViewType = record.NewImage
	}
	c, err := onlyChange(record.NewSnapshotDecoder(o).DecodeLines(text))
	if err != nil {
		w.failf("%v", err)
	}
	return c
}

// version returns the version with an epoch and a sequence number.
func (w *World) version(epoch int64, sequence string) record.Version {
	v, err := record.ParseVersion(fmt.Sprintf("%010d%040s", epoch, sequence))
	if err != nil {
		w.failf("%v", err)
	}
	return v
}

// newest returns copies of the changes. The version of a copy is newer than every version that the sinks have of its
// item.
func (w *World) newest(cs []*record.Change) []*record.Change {
	all := make([]*record.Change, len(cs))
	for i, c := range cs {
		changed := *c
		if last := w.newestOf[c.Key]; last != nil && last.Version.Compare(c.Version) > 0 {
			text := last.Version.String()
			n, err := strconv.Atoi(text[len(text)-15:])
			if err != nil {
				w.failf("%v", err)
			}
			changed.Version = w.version(int64(last.Version.Epoch()), fmt.Sprintf("%s%015d", text[10:len(text)-15], n+1))
		}
		all[i] = &changed
	}
	return all
}

// fillAgain loses some writes of the table, and fills the sinks a second time from a scan.
func (w *World) fillAgain() {
	w.tell("the next writes are lost")
	for range 1 + w.rand.IntN(5) {
		w.now += second + w.rand.Int64N(second)
		w.write()
	}
	w.tell("the sinks are filled again")
	w.scan, w.layers, w.parts = true, []layer{{at: w.now}}, nil
	w.makeParts()
	for _, p := range w.parts {
		w.read(p)
	}
	for len(w.backfill) > 0 {
		w.writeBackfill()
	}
}

// unread returns the parts that can be read now, and that were read less often than a number of times.
func (w *World) unread(times int) []*part {
	return slices.DeleteFunc(slices.Clone(w.parts), func(p *part) bool {
		isTooEarly := w.now < max(w.h, w.layers[p.layer].at)
		return p.reads >= times || isTooEarly
	})
}
