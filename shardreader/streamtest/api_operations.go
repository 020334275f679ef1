package streamtest

import (
	"errors"
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
	rest := s.streams
	if after != "" {
		i := slices.IndexFunc(rest, func(st *Stream) bool { return st.ref.ARN == after })
		if i < 0 {
			return page, nil
		}
		rest = rest[i+1:]
	}
	for _, st := range rest {
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
	listed, direction := slices.All(shards), 1
	if s.options.NewestFirst {
		listed, direction = slices.Backward(shards), -1
	}
	now := s.options.Now()
	for _, sh := range listed {
		// Ids are ordered by time, so the id of a removed shard still has a position.
		isOfEarlierPage := q.After != "" && direction*strings.Compare(sh.id, q.After) <= 0
		listing, isListed := sh.listing(&s.options, now)
		if isOfEarlierPage || !isListed {
			continue
		}
		if len(d.Shards) == limit {
			d.After = d.Shards[len(d.Shards)-1].ID
			break
		}
		d.Shards = append(d.Shards, listing)
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
	index, isBelow, f := s.indexOf(sh, at)
	if f != nil {
		return "", f
	}
	mayBeBelow := isBelow || len(sh.records) == 0
	it := iterator{stream: at.StreamARN, shard: at.Shard, index: index, created: s.options.Now(),
		isBelow: s.options.RefuseBelow && mayBeBelow}
	return it.String(), nil
}

// indexOf returns the index of the first record from a position on. isBelow is as in indexOfSequence.
func (s *Server) indexOf(sh *shard, at shardreader.ShardPosition) (index int, isBelow bool, f *failure) {
	switch at.Type {
	case shardreader.TrimHorizon:
		return sh.trimmedCount, false, nil
	case shardreader.Latest:
		return len(sh.records), false, nil
	case shardreader.AtSequence, shardreader.AfterSequence:
		return s.indexOfSequence(sh, at)
	case shardreader.AtTimestamp:
		switch {
		case s.options.NoTimestamps:
			return 0, false, errNoTimestamps
		case at.Time.IsZero():
			return 0, false,
				invalid("One or more parameter values were invalid: Timestamp must be passed for this iterator type")
		case at.Time.After(s.options.Now()):
			return 0, false, invalid("One or more parameter values were invalid: Timestamp must not be in the future")
		}
		return sh.indexAt(at.Time), false, nil
	}
	return 0, false, invalid(
		"Value '%s' at 'shardIteratorType' failed to satisfy constraint: Member must satisfy enum value set: [AFTER_SEQUENCE_NUMBER, LATEST, AT_SEQUENCE_NUMBER, AT_TIMESTAMP, TRIM_HORIZON]", at.Type)
}

// indexOfSequence returns the index of the first record at or after a position. isBelow reports whether the position is
// before the first record of the shard.
func (s *Server) indexOfSequence(sh *shard, at shardreader.ShardPosition) (index int, isBelow bool, f *failure) {
	n, ok := parseSequence(at.Sequence)
	if !ok {
		return 0, false, invalid("One or more parameter values were invalid: Invalid SequenceNumber")
	}
	if n < sh.first || n > max(sh.lastSequence(), sh.first) {
		return 0, false, invalid(
			"One or more parameter values were invalid: Invalid SequenceNumber: it is not of shard %s", at.Shard)
	}
	isAfter := at.Type == shardreader.AfterSequence
	lowest := n // lowest sequence number that is read
	if isAfter {
		lowest++
	}
	index = sh.indexFrom(lowest)
	isTrimmed := index < sh.trimmedCount || s.options.StrictTrim && sh.indexFrom(n) < sh.trimmedCount
	if isTrimmed {
		return 0, false, trimmed("the sequence number")
	}
	isBelow = len(sh.records) > 0 && lowest < sh.records[0].number
	return index, isBelow, nil
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
	case it.index < sh.trimmedCount, it.isBelow && len(sh.records) > 0:
		return nil, trimmed("the iterator")
	}
	next := iterator{stream: it.stream, shard: it.shard, index: it.index, isBelow: it.isBelow, created: now}
	var backing [2][]byte
	parts := backing[:0]
	if it.emptyPages < s.options.EmptyPages && it.index < len(sh.records) {
		next.emptyPages = it.emptyPages + 1
	} else {
		next.index = sh.pageEnd(it.index, limit, s.options.PageBytes)
		parts = sh.appendPage(parts, it.index, next.index)
	}
	hasReadAll := sh.closed() && next.index == len(sh.records)
	endsShard := hasReadAll && (!s.options.EmptyEnd || next.index == it.index)
	b := recordsBody(parts)
	if endsShard {
		return append(b, []byte(`]}`)), nil
	}
	end := make([]byte, 0, 192)
	end = append(end, `],"NextShardIterator":"`...)
	return append(b, append(next.append(end), `"}`...)), nil
}

// recordsBody returns the body of a GetRecords answer up to the end of its records.
func recordsBody(parts [][]byte) body {
	b := make(body, 0, 2*len(parts)+2)
	b = append(b, []byte(`{"Records":[`))
	for i, part := range parts {
		if i > 0 {
			b = append(b, []byte{','})
		}
		b = append(b, part)
	}
	return b
}

// iterator is a position for GetRecords. The fields of its text are separated by |. The text has no character that must
// be escaped in JSON.
type iterator struct {
	stream, shard string
	index         int  // index of the next record, including trimmed records
	emptyPages    int  // number of empty pages returned at this position so far
	isBelow       bool // the position is refused once the shard has a record; see [Options.RefuseBelow]
	created       time.Time
}

func (i iterator) String() string { return string(i.append(make([]byte, 0, 160))) }

func (i iterator) append(dst []byte) []byte {
	dst = append(append(dst, i.stream...), "|1|"...)
	dst = append(append(dst, i.shard...), '|')
	dst = append(strconv.AppendInt(dst, int64(i.index), 10), '|')
	dst = append(strconv.AppendInt(dst, int64(i.emptyPages), 10), '|')
	dst = append(strconv.AppendBool(dst, i.isBelow), '|')
	return strconv.AppendInt(dst, i.created.UnixNano(), 10)
}

func parseIterator(text string) (iterator, *failure) {
	fields := strings.Split(text, "|")
	if len(fields) != 7 || fields[1] != "1" {
		return iterator{}, invalid("Invalid ShardIterator")
	}
	index, err1 := strconv.Atoi(fields[3])
	emptyPages, err2 := strconv.Atoi(fields[4])
	isBelow, err3 := strconv.ParseBool(fields[5])
	created, err4 := strconv.ParseInt(fields[6], 10, 64)
	if errors.Join(err1, err2, err3, err4) != nil || index < 0 {
		return iterator{}, invalid("Invalid ShardIterator")
	}
	return iterator{stream: fields[0], shard: fields[2], index: index, emptyPages: emptyPages, isBelow: isBelow,
		created: time.Unix(0, created)}, nil
}
