package streamtest_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
)

// putAll writes n items.
func putAll(t *testing.T, s service, from, n int) {
	t.Helper()
	for i := range n {
		s.put(t, fmt.Sprintf(`{"PK":{"S":"k%d"},"A":{"N":"1"}}`, from+i))
	}
}

// newest is the table's newest stream, and its only shard.
func newest(t *testing.T, s service) (arn, shard string) {
	t.Helper()
	ref, err := shardreader.FindStream(t.Context(), api(s), s.table())
	if err != nil {
		t.Fatal(err)
	}
	desc, err := shardreader.ListShards(t.Context(), api(s), ref.ARN)
	if err != nil || len(desc.Shards) != 1 {
		t.Fatalf("%+v, %v", desc, err)
	}
	return ref.ARN, desc.Shards[0].ID
}

func position(t *testing.T, s service, at shardreader.ShardPosition) string {
	t.Helper()
	it, err := api(s).GetShardIterator(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	return it
}

func get(t *testing.T, s service, q shardreader.RecordsQuery) record.GetRecordsPage {
	t.Helper()
	a, err := api(s).GetRecords(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// next reads on until a page has records, or the shard ends.
func next(t *testing.T, s service, q shardreader.RecordsQuery) record.GetRecordsPage {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		a := get(t, s, q)
		if len(a.Page.Changes) > 0 || a.Ended || time.Now().After(deadline) {
			return a
		}
		q.Iterator = a.NextIterator
	}
}

func keys(a record.GetRecordsPage) string {
	var ks []string
	for _, c := range a.Page.Changes {
		ks = append(ks, string(c.Key))
	}
	return strings.Join(ks, " ")
}

func TestConformance_ListStreams(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		for _, table := range []string{"no-such-table", s.table()} {
			page, err := api(s).ListStreams(t.Context(), table, "")
			if err != nil || page.After != "" {
				t.Fatal(page, err)
			}
			if table != s.table() {
				if len(page.Streams) != 0 {
					t.Errorf("streams of no table: %v", page.Streams)
				}
				continue
			}
			if len(page.Streams) != 1 {
				t.Fatalf("streams %v, want one", page.Streams)
			}
			ref := page.Streams[0]
			if _, err := time.Parse("2006-01-02T15:04:05.000", ref.Label); err != nil || ref.Table != table || !strings.HasSuffix(ref.ARN, ":table/"+table+"/stream/"+ref.Label) {
				t.Errorf("stream %+v, %v", ref, err)
			}
		}
		s.disable(t)
		s.enable(t, record.KeysOnly)
		// Page by page, as Limit says.
		var got []string
		in := &dynamodbstreams.ListStreamsInput{TableName: aws.String(s.table()), Limit: aws.Int32(1)}
		for {
			out, err := s.client().ListStreams(t.Context(), in)
			if err != nil || len(out.Streams) > 1 {
				t.Fatal(out, err)
			}
			for _, st := range out.Streams {
				got = append(got, *st.StreamArn)
			}
			if in.ExclusiveStartStreamArn = out.LastEvaluatedStreamArn; in.ExclusiveStartStreamArn == nil {
				break
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); len(got) != 2 {
			t.Errorf("streams %v, want two", got)
		}
	})
}

// Fact 10: a stream that is DISABLED stays readable for 24 hours. Re-enabling makes a
// new stream ARN.
func TestFact10_DisabledAndEnabledAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 3)
		old, shard := newest(t, s)
		before, err := api(s).DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: old})
		if err != nil {
			t.Fatal(err)
		}
		s.disable(t)
		putAll(t, s, 10, 1) // into no stream
		s.enable(t, record.KeysOnly)
		putAll(t, s, 20, 1)
		after, err := api(s).DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: old})
		if err != nil {
			t.Fatal(err)
		}
		if before.Status != shardreader.Enabled || !before.Shards[0].Open() || after.Status != shardreader.Disabled || after.Shards[0].Open() {
			t.Errorf("before %+v, after %+v", before, after)
		}
		q := shardreader.RecordsQuery{StreamARN: old, Shard: shard, Iterator: position(t, s, shardreader.ShardPosition{StreamARN: old, Shard: shard, Type: shardreader.TrimHorizon})}
		a := next(t, s, q)
		if keys(a) != "k0 k1 k2" {
			t.Errorf("the disabled stream gives %s", keys(a))
		}
		if last := a.Page.Changes[2].Sequence; record.CompareSequence(after.Shards[0].Last, last) < 0 {
			t.Errorf("the shard ended at %s, before its last record %s", after.Shards[0].Last, last)
		}
		fresh, shard := newest(t, s)
		desc, err := api(s).DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: fresh})
		if err != nil || fresh == old || desc.Label <= after.Label || desc.ViewType != record.KeysOnly || shard == after.Shards[0].ID || desc.Shards[0].Parent != "" {
			t.Errorf("the new stream is %+v, %v", desc, err)
		}
		q = shardreader.RecordsQuery{StreamARN: fresh, Shard: shard, Iterator: position(t, s, shardreader.ShardPosition{StreamARN: fresh, Shard: shard, Type: shardreader.TrimHorizon})}
		if a := next(t, s, q); keys(a) != "k20" || a.Page.Changes[0].New.Exists() || a.Page.Changes[0].ViewType != record.KeysOnly {
			t.Errorf("the new stream gives %+v", a.Page.Changes)
		}
	})
}

// Fact 4: GetRecords may return records together with a nil NextShardIterator.
func TestFact4_RecordsComeWithTheEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 5)
		arn, shard := newest(t, s)
		at := shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon}
		q := shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Limit: 3, Iterator: position(t, s, at)}
		a := next(t, s, q)
		if keys(a) != "k0 k1 k2" || a.Ended {
			t.Fatalf("the first page is %s, ended %v", keys(a), a.Ended)
		}
		q.Iterator = a.NextIterator
		s.disable(t)
		if a = next(t, s, q); keys(a) != "k3 k4" || !a.Ended || a.NextIterator != "" {
			t.Errorf("the last page is %s, ended %v", keys(a), a.Ended)
		}
		// A reader that is already at the end gets there without records.
		at.Type = shardreader.Latest
		q.Iterator = position(t, s, at)
		if a = get(t, s, q); keys(a) != "" || !a.Ended {
			t.Errorf("behind the last record is %s, ended %v", keys(a), a.Ended)
		}
	})
}

// Fact 7: DescribeStream returns at most 100 shards a page, and is asked for the shards after a given one. DynamoDB
// Local finds no children by CHILD_SHARDS; nor does a server with FilterEmpty.
func TestFact7_DescribeStream(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		arn, shard := newest(t, s)
		d, err := api(s).DescribeStream(t.Context(), shardreader.DescribeQuery{StreamARN: arn})
		if err != nil {
			t.Fatal(err)
		}
		label, _ := time.Parse("2006-01-02T15:04:05.000", d.Label)
		if d.ARN != arn || d.Table != s.table() || d.ViewType != record.NewAndOldImages || d.After != "" || d.Created.Sub(label).Abs() > time.Second {
			t.Errorf("description %+v", d)
		}
		if sh := d.Shards[0]; sh.ID != shard || sh.Parent != "" || len(sh.First) < 21 || !strings.HasPrefix(sh.ID, "shardId-0000000") || len(sh.ID) != len("shardId-00000001414576573621-f55eea83") {
			t.Errorf("shard %+v", sh)
		}
		for name, q := range map[string]shardreader.DescribeQuery{
			"behind the last shard": {StreamARN: arn, After: shard},
			"the children of one":   {StreamARN: arn, ChildrenOf: shard},
		} {
			if d, err := api(s).DescribeStream(t.Context(), q); err != nil || len(d.Shards) != 0 || d.After != "" {
				t.Errorf("%s: %+v, %v", name, d, err)
			}
		}
		long := shardreader.DescribeQuery{StreamARN: arn, After: "shardId-00000001414576573621-f55eea83"}
		if d, err := api(s).DescribeStream(t.Context(), long); err != nil || len(d.Shards) != 1 {
			t.Errorf("behind a shard that is long gone: %+v, %v", d, err)
		}
		out, err := s.client().DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn})
		if err != nil || len(out.StreamDescription.KeySchema) != 1 || *out.StreamDescription.KeySchema[0].AttributeName != "PK" || out.StreamDescription.KeySchema[0].KeyType != "HASH" {
			t.Errorf("the keys are %+v, %v", out, err)
		}
	})
}

// Fact 8: GetRecords returns at most as many records as requested.
func TestFact8_PagesAndPositions(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 7)
		arn, shard := newest(t, s)
		at := shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon}
		q := shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Limit: 3, Iterator: position(t, s, at)}
		var pages, sequences []string
		for range 3 {
			a := next(t, s, q)
			pages = append(pages, keys(a))
			for _, c := range a.Page.Changes {
				sequences = append(sequences, c.Sequence)
			}
			q.Iterator = a.NextIterator
		}
		if diff := cmp.Diff([]string{"k0 k1 k2", "k3 k4 k5", "k6"}, pages); diff != "" {
			t.Fatalf("pages (-want +got):\n%s", diff)
		}
		if !slices.IsSortedFunc(sequences, record.CompareSequence) || len(sequences[0]) < 21 {
			t.Errorf("sequence numbers %v", sequences)
		}
		if a := get(t, s, q); keys(a) != "" || a.Ended || a.NextIterator == "" {
			t.Errorf("behind the last record of an open shard: %+v", a)
		}
		latest := position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.Latest})
		putAll(t, s, 7, 1)
		for _, tt := range []struct {
			iterator, want string
		}{
			{q.Iterator, "k7"},
			{latest, "k7"},
			{position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.AtSequence, Sequence: sequences[4]}), "k4 k5 k6"},
			{position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.AfterSequence, Sequence: sequences[4]}), "k5 k6 k7"},
			{position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.AfterSequence, Sequence: sequences[6]}), "k7"},
		} {
			q.Iterator = tt.iterator
			for range 2 { // an iterator can be used again
				if a := next(t, s, q); keys(a) != tt.want {
					t.Errorf("%s comes, want %s", keys(a), tt.want)
				}
			}
		}
	})
}

// Fact 8: iterators live 15 minutes.
func TestFact8_OldIterators(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 1)
		arn, shard := newest(t, s)
		it := position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})
		for age, expired := range map[time.Duration]bool{0: false, 14 * time.Minute: false, 15*time.Minute + 5*time.Second: true} {
			_, err := api(s).GetRecords(t.Context(), shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: s.aged(it, age)})
			if errors.Is(err, shardreader.ErrExpiredIterator) != expired || !expired && err != nil {
				t.Errorf("an iterator of %s: %v", age, err)
			}
		}
	})
}

// Fact 37: a shard's StartingSequenceNumber need not be that of one of its records, where other tables were written
// between. A position below the shard's first record is then refused as trimmed, also a position from before there was
// a record. TRIM_HORIZON finds the oldest record that exists.
func TestFact37_ShardsStartBelowTheirFirstRecord(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 2)
		s.disable(t)
		s.elsewhere(t)
		s.enable(t, record.NewAndOldImages)
		arn, shard := newest(t, s)
		d, err := shardreader.ListShards(t.Context(), api(s), arn)
		if err != nil {
			t.Fatal(err)
		}
		positions := func() map[string]string {
			iterators := make(map[string]string)
			for _, at := range []shardreader.ShardPosition{
				{Type: shardreader.TrimHorizon}, {Type: shardreader.Latest},
				{Type: shardreader.AtSequence, Sequence: d.Shards[0].First}, {Type: shardreader.AfterSequence, Sequence: d.Shards[0].First},
			} {
				at.StreamARN, at.Shard = arn, shard
				iterators[string(at.Type)] = position(t, s, at)
			}
			return iterators
		}
		early := positions()
		for name, it := range maps.Clone(early) { // while the shard is empty, all of them are at its start
			a := get(t, s, shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: it})
			if keys(a) != "" || a.Ended {
				t.Errorf("%s of an empty shard gives %q, ended %v", name, keys(a), a.Ended)
			}
			early["behind "+name] = a.NextIterator
		}
		s.elsewhere(t)
		s.elsewhere(t) // AFTER the start would be at the first record else
		putAll(t, s, 10, 3)
		late := positions()
		for name, it := range map[string]string{
			"TRIM_HORIZON": early["TRIM_HORIZON"], "LATEST": early["LATEST"], "behind TRIM_HORIZON": early["behind TRIM_HORIZON"], "behind LATEST": early["behind LATEST"],
			"AT": early["AT_SEQUENCE_NUMBER"], "AFTER": early["AFTER_SEQUENCE_NUMBER"], "behind AT": early["behind AT_SEQUENCE_NUMBER"],
			"AT, taken late": late["AT_SEQUENCE_NUMBER"], "AFTER, taken late": late["AFTER_SEQUENCE_NUMBER"],
		} {
			if _, err := api(s).GetRecords(t.Context(), shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: it}); !errors.Is(err, shardreader.ErrTrimmed) {
				t.Errorf("an iterator %s below the first record: %v", name, err)
			}
		}
		a := next(t, s, shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: late["TRIM_HORIZON"]})
		if keys(a) != "k10 k11 k12" || record.CompareSequence(a.Page.Changes[0].Sequence, d.Shards[0].First) <= 0 {
			t.Fatalf("TRIM_HORIZON gives %s, of a shard that starts at %s", keys(a), d.Shards[0].First)
		}
		at := position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.AtSequence, Sequence: a.Page.Changes[0].Sequence})
		if a = next(t, s, shardreader.RecordsQuery{StreamARN: arn, Shard: shard, Iterator: at}); keys(a) != "k10 k11 k12" {
			t.Errorf("the number of the first record gives %s", keys(a))
		}
	})
}

func TestConformance_Errors(t *testing.T) {
	onBoth(t, func(t *testing.T, s service) {
		putAll(t, s, 0, 1)
		arn, shard := newest(t, s)
		it := position(t, s, shardreader.ShardPosition{StreamARN: arn, Shard: shard, Type: shardreader.TrimHorizon})
		other := strings.Replace(arn, s.table(), "no-such-table", 1)
		const gone = "shardId-00000001414576573621-f55eea83"
		c := s.client()
		iterator := func(arn, shard, kind, sequence string) func() error {
			in := &dynamodbstreams.GetShardIteratorInput{StreamArn: &arn, ShardId: &shard, ShardIteratorType: "TRIM_HORIZON"}
			if kind != "" {
				in.ShardIteratorType = "AFTER_SEQUENCE_NUMBER"
			}
			if sequence != "" {
				in.SequenceNumber = &sequence
			}
			return func() error { _, err := c.GetShardIterator(t.Context(), in); return err }
		}
		limit := func(n int32) func() error {
			return func() error {
				_, err := c.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: &it, Limit: &n})
				return err
			}
		}
		for name, tt := range map[string]struct {
			call func() error
			want string
		}{
			"a stream that is not there": {func() error {
				_, err := c.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &other})
				return err
			}, "ResourceNotFoundException"},
			"too many shards": {func() error {
				_, err := c.DescribeStream(t.Context(), &dynamodbstreams.DescribeStreamInput{StreamArn: &arn, Limit: aws.Int32(101)})
				return err
			}, "ValidationException"},
			"no streams": {func() error {
				_, err := c.ListStreams(t.Context(), &dynamodbstreams.ListStreamsInput{Limit: aws.Int32(0)})
				return err
			}, "ValidationException"},
			"an iterator of a stream that is not there": {iterator(other, shard, "", ""), "ResourceNotFoundException"},
			"an iterator of a shard that is not there":  {iterator(arn, gone, "", ""), "ResourceNotFoundException"},
			"a place that needs no sequence number":     {iterator(arn, shard, "", strings.Repeat("0", 20)+"1"), "ValidationException"},
			"a place that needs one":                    {iterator(arn, shard, "after", ""), "ValidationException"},
			"no records":                                {limit(0), "ValidationException"},
			"too many records":                          {limit(1001), "ValidationException"},
			"garbage for an iterator": {func() error {
				_, err := c.GetRecords(t.Context(), &dynamodbstreams.GetRecordsInput{ShardIterator: aws.String("garbage")})
				return err
			}, "ValidationException"},
		} {
			err := tt.call()
			if e, ok := errors.AsType[smithy.APIError](err); !ok || e.ErrorCode() != tt.want {
				t.Errorf("%s: %v, want %s", name, err, tt.want)
			}
		}
	})
}
