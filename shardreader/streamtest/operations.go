package streamtest

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/shardreader"
)

// listStreams is one page. The lock is held, here and below.
func (s *Server) listStreams(table, after string) shardreader.StreamPage {
	var page shardreader.StreamPage
	skip := after != ""
	for _, st := range s.streams {
		if skip {
			skip = st.ref.ARN != after
			continue
		}
		if table != "" && st.ref.Table != table {
			continue
		}
		if len(page.Streams) == s.o.PageShards {
			page.After = page.Streams[len(page.Streams)-1].ARN
			break
		}
		page.Streams = append(page.Streams, st.ref)
	}
	return page
}

func (s *Server) describeStream(q shardreader.DescribeQuery) (shardreader.StreamDescription, *failure) {
	st, f := s.stream(q.StreamARN)
	if f != nil {
		return shardreader.StreamDescription{}, f
	}
	d := shardreader.StreamDescription{StreamRef: st.ref, Status: st.status, ViewType: pipeline.NewAndOldImages, Created: st.enabled}
	skip := q.After != ""
	for _, sh := range st.shards {
		if skip {
			skip = sh.id != q.After
			continue
		}
		if q.ChildrenOf != "" && sh.parent != q.ChildrenOf {
			continue
		}
		if len(d.Shards) == s.o.PageShards {
			d.After = d.Shards[len(d.Shards)-1].ID
			break
		}
		d.Shards = append(d.Shards, shardreader.Shard{ID: sh.id, Parent: sh.parent, First: sh.first, Last: sh.last()})
	}
	return d, nil
}

// iterator is a position that GetRecords takes. As text its fields are joined by |.
type iterator struct {
	stream, shard string
	index         int // of the next record, trimmed ones counted
	empty         int // pages given empty here so far
	made          time.Time
}

func (i iterator) String() string {
	return fmt.Sprintf("%s|%s|%d|%d|%d", i.stream, i.shard, i.index, i.empty, i.made.UnixMilli())
}

func parseIterator(text string) (iterator, *failure) {
	wrong := &failure{code: "ValidationException", message: "Invalid ShardIterator", status: 400}
	f := strings.Split(text, "|")
	if len(f) != 5 {
		return iterator{}, wrong
	}
	var n [3]int64
	for k := range n {
		v, err := strconv.ParseInt(f[k+2], 10, 64)
		if err != nil {
			return iterator{}, wrong
		}
		n[k] = v
	}
	return iterator{f[0], f[1], int(n[0]), int(n[1]), time.UnixMilli(n[2])}, nil
}

func (s *Server) getShardIterator(at shardreader.ShardPosition) (string, *failure) {
	st, f := s.stream(at.StreamARN)
	if f != nil {
		return "", f
	}
	sh, f := st.find(at.Shard)
	if f != nil {
		return "", f
	}
	it := iterator{stream: at.StreamARN, shard: at.Shard, made: time.Now()}
	switch at.Type {
	case shardreader.TrimHorizon:
		it.index = sh.trimmed
	case shardreader.Latest:
		it.index = len(sh.records)
	case shardreader.AtSequence, shardreader.AfterSequence:
		for it.index < len(sh.records) {
			c := pipeline.CompareSequence(sh.records[it.index].sequence, at.Sequence)
			if c > 0 || c == 0 && at.Type == shardreader.AtSequence {
				break
			}
			it.index++
		}
		// Behind the last of the trimmed records nothing is missing.
		if it.index < sh.trimmed {
			return "", &failure{code: "TrimmedDataAccessException", message: "the sequence number is older than the trim horizon", status: 400}
		}
	default:
		return "", &failure{code: "ValidationException", message: fmt.Sprintf("unknown shard iterator type %q", at.Type), status: 400}
	}
	return it.String(), nil
}

// getRecords is the body of an answer.
func (s *Server) getRecords(q shardreader.RecordsQuery) ([]byte, *failure) {
	it, f := parseIterator(q.Iterator)
	if f != nil {
		return nil, f
	}
	st, f := s.stream(it.stream)
	if f != nil {
		return nil, f
	}
	sh, f := st.find(it.shard)
	if f != nil {
		return nil, f
	}
	switch {
	case time.Since(it.made) > s.o.IteratorLife:
		return nil, &failure{code: "ExpiredIteratorException", message: "Iterator expired", status: 400}
	case it.index < sh.trimmed:
		return nil, &failure{code: "TrimmedDataAccessException", message: "the iterator is older than the trim horizon", status: 400}
	}
	var raws []string
	next := iterator{stream: it.stream, shard: it.shard, index: it.index, made: time.Now()}
	if it.empty < s.o.EmptyPages && it.index < len(sh.records) {
		next.empty = it.empty + 1
	} else {
		limit := s.o.PageRecords
		if q.Limit > 0 {
			limit = min(limit, q.Limit)
		}
		for _, r := range sh.records[it.index:min(it.index+limit, len(sh.records))] {
			raws = append(raws, r.raw)
			next.index++
		}
	}
	body := `{"Records":[` + strings.Join(raws, ",") + `]`
	if !sh.closed || next.index < len(sh.records) {
		text, err := json.Marshal(next.String())
		if err != nil {
			panic(err) // a string
		}
		body += `,"NextShardIterator":` + string(text)
	}
	return []byte(body + "}"), nil
}
