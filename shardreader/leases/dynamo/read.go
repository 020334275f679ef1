package dynamo

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// How a table is read: in segments, side by side, as soon as it has many rows. A page is
// at most 1 MB, some 2,000 rows.
const (
	rowsPerSegment = 1000
	maxSegments    = 8
)

// Read implements [leases.Table]. Rows are read consistently, each at its time. One that
// somebody damaged keeps nobody from reading the others: it is told as broken.
func (t *Table) Read(ctx context.Context) (leases.Snapshot, error) {
	var s leases.Snapshot
	var ofLeases, ofMembers error
	var wg sync.WaitGroup
	var rows segment
	wg.Go(func() { rows, ofLeases = t.leases(ctx) })
	wg.Go(func() { ofMembers = t.members(ctx, &s) })
	wg.Wait()
	for _, err := range []error{ofLeases, ofMembers} {
		if err != nil {
			return leases.Snapshot{}, err
		}
	}
	s.Leases = rows.leases
	s.Broken = append(s.Broken, rows.broken...)
	s.Sort()
	return s, nil
}

// leases scans the lease table, and learns its form.
func (t *Table) leases(ctx context.Context) (all segment, err error) {
	t.mu.Lock()
	n := min(max(t.rows/rowsPerSegment, 1), maxSegments)
	t.mu.Unlock()
	segments := make([]segment, n)
	var wg sync.WaitGroup
	for i := range segments {
		wg.Go(func() { segments[i].err = t.scan(ctx, &segments[i], i, n) })
	}
	wg.Wait()
	for _, s := range segments {
		if s.err != nil {
			return segment{}, s.err
		}
		all.leases = append(all.leases, s.leases...)
		all.broken = append(all.broken, s.broken...)
		all.signs.add(s.signs)
		all.rows += s.rows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.seen, t.form = all.rows, true, all.signs.form(t.form)
	return all, nil
}

type segment struct {
	leases []leases.Lease
	broken []leases.Broken
	signs  signs
	rows   int
	err    error
}

func (t *Table) scan(ctx context.Context, s *segment, i, of int) error {
	in := &dynamodb.ScanInput{TableName: &t.o.Table, ConsistentRead: aws.Bool(true)}
	if of > 1 {
		in.Segment, in.TotalSegments = aws.Int32(int32(i)), aws.Int32(int32(of))
	}
	for {
		out, err := send(ctx, t, t.o.Client.Scan, in, patient)
		if err != nil {
			return t.failed(ctx, "Scan", t.o.Table, err)
		}
		for _, row := range out.Items {
			s.rows++
			lease := isLease(row)
			s.signs.see(row, lease)
			if !lease {
				continue
			}
			l, err := decode(row)
			if err != nil {
				s.broken = append(s.broken, leases.Broken{Shard: shardOf(row), Why: err.Error()})
				continue
			}
			s.leases = append(s.leases, l)
		}
		if in.ExclusiveStartKey = out.LastEvaluatedKey; len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}
