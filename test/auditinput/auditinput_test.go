package auditinput

import "testing"

// The made-up view and the embedded view are both equal to the table.
func TestEqual(t *testing.T) {
	in, err := New(5000)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, in)
	closeStore, err := in.Embed(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	equal(t, in)
	if items, rows, err := in.BareScan(t.Context()); items != 5000 || rows != 5000 || err != nil {
		t.Errorf("%d items and %d rows are read without tablewake: %v", items, rows, err)
	}
	if err := closeStore(); err != nil {
		t.Error(err)
	}
}

func equal(t *testing.T, in *Input) {
	t.Helper()
	if _, err := in.Audit(t.Context(), t.TempDir()); err != nil {
		t.Error(err)
	}
	items, rows, err := in.Scan(t.Context())
	if items != 5000 || rows != 5000 || err != nil {
		t.Errorf("%d items and %d rows are read: %v", items, rows, err)
	}
}

func BenchmarkAudit(b *testing.B) {
	each(b, func(in *Input) error {
		_, err := in.Audit(b.Context(), b.TempDir())
		return err
	})
}

func BenchmarkScan(b *testing.B) {
	each(b, func(in *Input) error {
		_, _, err := in.Scan(b.Context())
		return err
	})
}

func each(b *testing.B, do func(in *Input) error) {
	const n = 20_000
	in, err := New(n)
	if err != nil {
		b.Fatal(err)
	}
	measure := func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if err := do(in); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
	}
	b.Run("rows made up", measure)
	closeStore, err := in.Embed(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("rows embedded", measure)
	if err := closeStore(); err != nil {
		b.Error(err)
	}
}

func BenchmarkBareScan(b *testing.B) {
	const n = 20_000
	in, err := New(n)
	if err != nil {
		b.Fatal(err)
	}
	closeStore, err := in.Embed(b.Context(), b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, _, err := in.BareScan(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/item")
	if err := closeStore(); err != nil {
		b.Error(err)
	}
}
