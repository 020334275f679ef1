package dynamo

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/tablewake/tablewake/shardreader/leases"
)

// A table with many rows is scanned in parallel segments. A page of a scan has at most 1 MB, about 2,000 rows.
const (
	rowsPerSegment = 1000
	maxSegments    = 8
)

// Read implements [leases.Table]. Each read of a row is consistent, but rows are read at different times. A damaged row
// is reported in Snapshot.Broken and does not fail the Read.
func (t *Table) Read(ctx context.Context) (leases.Snapshot, error) {
	var s leases.Snapshot
	var leasesErr, membersErr error
	var wg sync.WaitGroup
	var rows segmentRows
	wg.Go(func() { rows, leasesErr = t.scanLeases(ctx) })
	wg.Go(func() { membersErr = t.readMembers(ctx, &s) })
	wg.Wait()
	for _, err := range []error{leasesErr, membersErr} {
		if err != nil {
			return leases.Snapshot{}, err
		}
	}
	s.Leases = rows.leases
	s.DamagedLeases = append(s.DamagedLeases, rows.broken...)
	s.Sort()
	return s, nil
}

// scanLeases scans the lease table, and stores the row format that the rows show.
func (t *Table) scanLeases(ctx context.Context) (all segmentRows, err error) {
	t.mu.Lock()
	segmentCount := min(max(t.rows/rowsPerSegment, 1), maxSegments)
	t.mu.Unlock()
	segments := make([]segmentRows, segmentCount)
	var wg sync.WaitGroup
	for i := range segments {
		wg.Go(func() { segments[i].err = t.scan(ctx, &segments[i], i, segmentCount) })
	}
	wg.Wait()
	for _, s := range segments {
		if s.err != nil {
			return segmentRows{}, s.err
		}
		all.leases = append(all.leases, s.leases...)
		all.broken = append(all.broken, s.broken...)
		all.signs.merge(s.signs)
		all.rows += s.rows
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.formKnown, t.form = all.rows, true, all.signs.form(t.form)
	return all, nil
}

// segmentRows has the rows of one segment, or of all segments.
type segmentRows struct {
	leases []leases.Lease
	broken []leases.BrokenLease
	signs  formSigns
	rows   int
	err    error
}

// scan adds the rows of a segment to s.
func (t *Table) scan(ctx context.Context, s *segmentRows, segment, segmentCount int) error {
	in := &dynamodb.ScanInput{TableName: &t.options.Table, ConsistentRead: aws.Bool(true)}
	if segmentCount > 1 {
		in.Segment, in.TotalSegments = aws.Int32(int32(segment)), aws.Int32(int32(segmentCount))
	}
	for {
		out, err := send(ctx, t, t.options.Client.Scan, in, sdkRetries)
		if err != nil {
			return callError(ctx, "Scan", t.options.Table, err)
		}
		for _, row := range out.Items {
			s.add(row)
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// add adds a row, which may not be a lease.
func (s *segmentRows) add(row Item) {
	s.rows++
	s.signs.note(row)
	if !isLease(row) {
		return
	}
	l, err := decode(row)
	if err != nil {
		s.broken = append(s.broken, leases.BrokenLease{Shard: shardFromRow(row), Reason: err.Error()})
		return
	}
	s.leases = append(s.leases, l)
}
