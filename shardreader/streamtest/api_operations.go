package streamtest

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/shardreader"
)

// listStreams returns one page of streams. The caller holds the lock, as for all functions in this file.
func (s *Server) listStreams(table, after string, limit int) (shardreader.StreamPage, *failure) {
	var page shardreader.StreamPage
	s.dropExpired()
	skip := after != ""
	for _, st := range s.streams {
		if skip {
			skip = st.ref.ARN != after
			continue
		}
		if table != "" && st.ref.Table != table {
			continue
		}
		if len(page.Streams) == limit {
			page.After = page.Streams[len(page.Streams)-1].ARN
			break
		}
		page.Streams = append(page.Streams, st.ref)
	}
	return page, nil
}

func (s *Server) describeStream(q shardreader.DescribeQuery, limit int) (shardreader.StreamDescription, *failure) {
	st, f := s.stream(q.StreamARN)
	if f != nil {
		return shardreader.StreamDescription{}, f
	}
	d := shardreader.StreamDescription{StreamRef: st.ref, Status: st.status, ViewType: st.view, Created: st.enabledAt}
	shards := st.shards
	if q.ChildrenOf != "" {
		switch s.options.ChildFilter {
		case FilterHonoured:
			shards = st.children[q.ChildrenOf]
		case FilterEmpty:
			shards = nil
		case FilterRefused:
			return shardreader.StreamDescription{}, invalid("Unsupported parameter: ShardFilter")
		}
	}
	index, step := 0, 1
	if s.options.NewestFirst {
		index, step = len(shards)-1, -1
	}
	if q.After != "" { // ids are ordered by time, so the id of a removed shard still has a position
		var found bool
		index, found = slices.BinarySearchFunc(shards, q.After,
			func(sh *shard, id string) int { return strings.Compare(sh.id, id) })
		if found || step < 0 {
			index += step
		}
	}
	for now := s.options.Now(); index >= 0 && index < len(shards); index += step {
		sh, ok := shards[index].listing(&s.options, now)
		if !ok {
			continue
		}
		if len(d.Shards) == limit {
			d.After = d.Shards[len(d.Shards)-1].ID
			break
		}
		d.Shards = append(d.Shards, sh)
	}
	return d, nil
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
	takesNoSequence := at.Type == shardreader.TrimHorizon || at.Type == shardreader.Latest ||
		at.Type == shardreader.AtTimestamp
	if at.Sequence != "" && takesNoSequence {
		return "",
			invalid("One or more parameter values were invalid: SequenceNumber should not be passed for this iterator type")
	}
	it := iterator{stream: at.StreamARN, shard: at.Shard, created: s.options.Now()}
	beforeFirst := len(sh.records) == 0 // the position is before the first record, which may not exist yet
	switch at.Type {
	case shardreader.TrimHorizon:
		it.index = sh.trimmedCount
	case shardreader.Latest:
		it.index = len(sh.records)
	case shardreader.AtSequence, shardreader.AfterSequence:
		index, isBefore, f := s.indexOfSequence(sh, at)
		if f != nil {
			return "", f
		}
		it.index = index
		beforeFirst = beforeFirst || isBefore
	case shardreader.AtTimestamp:
		switch {
		case s.options.NoTimestamps:
			return "", errNoTimestamps
		case at.Time.IsZero():
			return "", invalid("One or more parameter values were invalid: Timestamp must be passed for this iterator type")
		case at.Time.After(s.options.Now()):
			return "", invalid("One or more parameter values were invalid: Timestamp must not be in the future")
		}
		it.index = sh.indexAt(at.Time)
	default:
		return "",
			invalid(
				"Value '%s' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, LATEST, AT_SEQUENCE_NUMBER, AT_TIMESTAMP, TRIM_HORIZON]", at.Type)
	}
	if beforeFirst && s.options.RefuseBelow {
		it.index = belowAll
	}
	return it.String(), nil
}

// indexOfSequence returns the index of the first record at or after a position. beforeFirst reports whether the
// position is before the first record.
func (s *Server) indexOfSequence(sh *shard, at shardreader.ShardPosition) (index int, beforeFirst bool, f *failure) {
	n, ok := parseSequence(at.Sequence)
	if !ok {
		return 0, false, invalid("One or more parameter values were invalid: Invalid SequenceNumber")
	}
	if n < sh.first || n > max(sh.lastSequence(), sh.first) {
		return 0, false, invalid(
			"One or more parameter values were invalid: Invalid SequenceNumber: it is not of shard %s", at.Shard)
	}
	isAfter := at.Type == shardreader.AfterSequence
	if len(sh.records) > 0 {
		first := sh.records[0].number
		beforeFirst = n < first && (!isAfter || n+1 < first)
	}
	index = sh.indexFrom(n)
	recordIndex := index // with StrictTrim, the record at this position must not be trimmed
	if isAfter && index < len(sh.records) && sh.records[index].number == n {
		index++
	}
	if index < sh.trimmedCount || s.options.StrictTrim && recordIndex < sh.trimmedCount {
		return 0, false, trimmed("the sequence number")
	}
	return index, beforeFirst, nil
}

// errNoTimestamps is the error answer of a server that does not know AT_TIMESTAMP.
var errNoTimestamps = &failure{
	code:    "InternalFailure",
	message: "The request processing has failed because of an unknown error, exception or failure.",
	status:  http.StatusInternalServerError,
}

// getRecords returns the body of a GetRecords answer.
func (s *Server) getRecords(it iterator, limit int) (body, *failure) {
	st, f := s.stream(it.stream)
	if f != nil {
		return nil, f
	}
	sh, f := st.find(it.shard)
	if f != nil {
		return nil, f
	}
	now := s.options.Now()
	switch {
	case now.Sub(it.created) > s.options.IteratorLife:
		return nil, &failure{code: "ExpiredIteratorException", message: "Iterator expired: it is too old"}
	case it.index == belowAll && len(sh.records) == 0:
	case it.index < sh.trimmedCount:
		return nil, trimmed("the iterator")
	}
	next := iterator{stream: it.stream, shard: it.shard, index: it.index, created: now}
	var backing [2][]byte
	parts := backing[:0]
	switch {
	case it.index == belowAll:
	case it.emptyPages < s.options.EmptyPages && it.index < len(sh.records):
		next.emptyPages = it.emptyPages + 1
	default:
		parts, next.index = sh.page(parts, it.index, limit, s.options.PageBytes)
	}
	b := make(body, 0, 2*len(parts)+2)
	b = append(b, []byte(`{"Records":[`))
	for i, part := range parts {
		if i > 0 {
			b = append(b, []byte{','})
		}
		b = append(b, part)
	}
	hasReadAll := sh.closed() && max(next.index, 0) == len(sh.records)
	endsShard := hasReadAll && (!s.options.EmptyEnd || next.index == it.index)
	if endsShard {
		return append(b, []byte(`]}`)), nil
	}
	end := make([]byte, 0, 192)
	end = append(end, `],"NextShardIterator":"`...)
	return append(b, append(next.append(end), `"}`...)), nil
}

// iterator is a position for GetRecords. The fields of its text are separated by |. The text has no character that must
// be escaped in JSON.
type iterator struct {
	stream, shard string
	index         int // index of the next record, including trimmed records; or belowAll
	emptyPages    int // number of empty pages returned at this position so far
	created       time.Time
}

// belowAll is the index of a position before the first record of a shard; see [Options.RefuseBelow].
const belowAll = -1

func (i iterator) String() string { return string(i.append(make([]byte, 0, 160))) }

func (i iterator) append(dst []byte) []byte {
	dst = append(append(dst, i.stream...), "|1|"...)
	dst = append(append(dst, i.shard...), '|')
	dst = append(strconv.AppendInt(dst, int64(i.index), 10), '|')
	dst = append(strconv.AppendInt(dst, int64(i.emptyPages), 10), '|')
	return strconv.AppendInt(dst, i.created.UnixNano(), 10)
}

func parseIterator(text string) (iterator, *failure) {
	fields := strings.Split(text, "|")
	if len(fields) != 6 || fields[1] != "1" {
		return iterator{}, invalid("Invalid ShardIterator")
	}
	index, err1 := strconv.Atoi(fields[3])
	emptyPages, err2 := strconv.Atoi(fields[4])
	created, err3 := strconv.ParseInt(fields[5], 10, 64)
	if err1 != nil || err2 != nil || err3 != nil || index < belowAll {
		return iterator{}, invalid("Invalid ShardIterator")
	}
	return iterator{stream: fields[0], shard: fields[2], index: index, emptyPages: emptyPages,
		created: time.Unix(0, created)}, nil
}
