package dynamo

import (
	"cmp"
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
// is reported in Snapshot.DamagedLeases and does not fail the Read.
func (t *Table) Read(ctx context.Context) (leases.Snapshot, error) {
	var s leases.Snapshot
	var leasesErr, membersErr error
	var wg sync.WaitGroup
	var rows scannedRows
	wg.Go(func() { leasesErr = t.scanLeases(ctx, &rows) })
	wg.Go(func() { membersErr = t.readMembers(ctx, &s) })
	wg.Wait()
	if err := cmp.Or(leasesErr, membersErr); err != nil {
		return leases.Snapshot{}, err
	}
	s.Leases = rows.leases
	s.DamagedLeases = append(s.DamagedLeases, rows.damaged...)
	s.Sort()
	return s, nil
}

// scanLeases adds the rows of the lease table to rows, and stores the row format that they show.
func (t *Table) scanLeases(ctx context.Context, rows *scannedRows) error {
	t.mu.Lock()
	segmentCount := min(max(t.rowCount/rowsPerSegment, 1), maxSegments)
	t.mu.Unlock()
	errs := make([]error, segmentCount)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { errs[i] = t.scanSegment(ctx, rows, i, segmentCount) })
	}
	wg.Wait()
	if err := cmp.Or(errs...); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rowCount, t.formatKnown, t.format = rows.count, true, rows.signs.format(t.format)
	return nil
}

// scannedRows has the rows of the lease table. The segments are added concurrently.
type scannedRows struct {
	mu      sync.Mutex
	count   int
	leases  []leases.Lease
	damaged []leases.DamagedLease
	signs   formatSigns
}

// scanSegment adds the rows of a segment to rows.
func (t *Table) scanSegment(ctx context.Context, rows *scannedRows, index, segmentCount int) error {
	in := &dynamodb.ScanInput{TableName: &t.options.Table, ConsistentRead: aws.Bool(true)}
	if segmentCount > 1 {
		in.Segment, in.TotalSegments = aws.Int32(int32(index)), aws.Int32(int32(segmentCount))
	}
	for {
		out, err := read(ctx, t.options.Client.Scan, in)
		if err != nil {
			return callError(ctx, "Scan", t.options.Table, err)
		}
		rows.add(out.Items)
		in.ExclusiveStartKey = out.LastEvaluatedKey
		if len(in.ExclusiveStartKey) == 0 {
			return nil
		}
	}
}

// add adds the rows of a page. Some of them may not be leases.
func (s *scannedRows) add(page []Item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count += len(page)
	for _, row := range page {
		s.signs.note(row)
		if !isLease(row) {
			continue
		}
		l, err := decode(row)
		if err != nil {
			s.damaged = append(s.damaged, leases.DamagedLease{Shard: shardFromRow(row), Reason: err.Error()})
			continue
		}
		s.leases = append(s.leases, l)
	}
}
