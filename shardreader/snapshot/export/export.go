package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/shardreader/snapshot"
)

// Options configure an Export.
type Options struct {
	// Layers names a full export, and then the incremental exports that continue it, in order of their times. Each name
	// is a folder or s3://BUCKET/PREFIX: the folder of the export itself, its manifest-summary.json, or a folder with
	// exactly one export below it. Required
	Layers []string

	// ChangesOnly means that Layers names one incremental export, without the full export that it continues. The parts
	// then have only the changes of a period. Default: false
	ChangesOnly bool

	// Decoder holds the options of the decoder. Open sets Layer and ViewType. Decoder.Table defaults to the exported
	// table. To open a part, Keys must be set, because an export does not name the keys. StreamARN, EpochZero or
	// Kinesis must be set too
	Decoder record.SnapshotOptions

	S3 S3Client // reads layers in a bucket. Required for layers in a bucket

	// OnWarning is called by Open for each manifest without a checksum file. Default: not called
	OnWarning func(text string)

	// OnRetry is called when a failed request to S3 will be repeated after wait. It is called concurrently. Default:
	// not called
	OnRetry func(err error, wait time.Duration)
}

// Export is a full export with the incremental exports that continue it, as a snapshot. It is safe for concurrent use.
type Export struct {
	options Options
	layers  []*layer
	parts   []snapshot.Part
	files   map[string]*dataFile // by ID of the part
	info    snapshot.Info
}

var _ snapshot.Snapshot = (*Export)(nil)

// layer is one export: the full export, or an incremental export that continues it.
type layer struct {
	store     store
	folder    string          // folder with the manifests
	fileNames map[string]bool // names of the files in folder
	warn      func(text string)
	summary   manifestSummary
	files     []*dataFile
	decoder   *record.SnapshotDecoder
}

// location returns the folder of the export, for messages and for the canonical name.
func (l *layer) location() redact.Safe { return l.store.location(l.folder) + "/" }

// Open reads the manifests of the layers, and lists their data files. It reads no items.
func Open(ctx context.Context, o Options) (*Export, error) {
	if o.OnWarning == nil {
		o.OnWarning = func(string) {}
	}
	if o.OnRetry == nil {
		o.OnRetry = func(error, time.Duration) {}
	}
	if len(o.Layers) == 0 {
		return nil, errors.New("export: Layers is empty: name the folder of a full export")
	}
	e := &Export{options: o, files: make(map[string]*dataFile)}
	for _, name := range o.Layers {
		l, err := o.openLayer(ctx, name)
		if err != nil {
			return nil, err
		}
		e.layers = append(e.layers, l)
	}
	if err := e.checkLayers(); err != nil {
		return nil, err
	}
	e.setParts()
	return e, nil
}

// checkLayers returns an error if the layers do not continue one another.
func (e *Export) checkLayers() error {
	if e.options.ChangesOnly {
		return e.checkChanges()
	}
	first := e.layers[0]
	if first.summary.incremental {
		return errs.Errorf(
			"export: %s is an incremental export, which has only the changes of a period: name the full export that it continues before it", first.location())
	}
	for i, l := range e.layers[1:] {
		if err := l.checkContinues(e.layers[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkContinues returns an error unless a layer is an incremental export that continues the layer before it.
func (l *layer) checkContinues(previous *layer) error {
	now, before := l.summary, previous.summary
	from, to, end := now.changesSince, now.time, before.time
	hasOtherID := now.TableID != "" && before.TableID != "" && now.TableID != before.TableID
	switch {
	case !now.incremental:
		return errs.Errorf(
			"export: %s is a full export, and only the first layer can be one: name it alone, or leave it out", l.location())
	case now.TableARN != before.TableARN || hasOtherID:
		return errs.Errorf(
			"export: %s is an export of the table %s (id %s), and %s of %s (id %s): all layers must be of one table, and a table that was created again is another one",
			l.location(), redact.Safe(now.TableARN), redact.Safe(now.TableID), previous.location(),
			redact.Safe(before.TableARN), redact.Safe(before.TableID))
	case from.After(end):
		return errs.Errorf(
			"export: %s begins at %s, and the layer before it, %s, ends at %s: no layer has the changes between. Name between them an incremental export from %s to %s",
			l.location(), timeText(from), previous.location(), timeText(end), timeText(end.Truncate(time.Second)),
			timeText(from))
	case !to.After(end):
		return errs.Errorf(
			"export: %s ends at %s, and the layer before it, %s, ends no earlier, at %s: name the layers in order of their times, each once",
			l.location(), timeText(to), previous.location(), timeText(end))
	case end.Sub(from) >= time.Second:
		// An incremental export begins at a whole second, and a full export may end between two seconds.
		return errs.Errorf(
			"export: %s begins at %s, before the end of the layer before it, %s, at %s: the old image of an item that changed in both would not be what the layer before shows, and its former row would stay. Export again from %s",
			l.location(), timeText(from), previous.location(), timeText(end), timeText(end.Truncate(time.Second)))
	}
	return nil
}

// checkChanges returns an error unless the only layer is an incremental export.
func (e *Export) checkChanges() error {
	switch {
	case len(e.layers) != 1:
		return errs.New("export: Layers has several exports, and ChangesOnly reads one: name one incremental export")
	case !e.layers[0].summary.incremental:
		return errs.Errorf("export: %s is a full export: name an incremental export, which has the changes of a period",
			e.layers[0].location())
	}
	return nil
}

func timeText(t time.Time) redact.Safe { return redact.Safe(t.Format(time.RFC3339Nano)) }

// setParts sets the parts and the description from the layers.
func (e *Export) setParts() {
	first, last := e.layers[0].summary, e.layers[len(e.layers)-1].summary
	start := first.time
	if e.options.ChangesOnly {
		start = first.changesSince
	}
	e.info = snapshot.Info{Time: last.time, OldestTime: start, TableARN: first.TableARN, View: record.NewAndOldImages}
	width := len(strconv.Itoa(len(e.layers) - 1))
	var locations []string
	for i, l := range e.layers {
		locations = append(locations, string(l.location()))
		if l.summary.view == record.NewImage {
			e.info.View = record.NewImage
		}
		l.decoder = e.newDecoder(i, l.summary)
		for _, f := range l.files {
			p := snapshot.Part{ID: fmt.Sprintf("%0*d/%s", width, i, f.baseName()), Items: f.items, Bytes: f.bytes}
			e.parts = append(e.parts, p)
			e.files[p.ID] = f
			e.info.Items += f.items
			e.info.Bytes += f.bytes
		}
	}
	slices.SortFunc(e.parts, func(a, b snapshot.Part) int { return strings.Compare(a.ID, b.ID) })
	e.info.Source = "export " + strings.Join(locations, " ")
}

// newDecoder returns the decoder of the layer at index i.
func (e *Export) newDecoder(i int, s manifestSummary) *record.SnapshotDecoder {
	o := e.options.Decoder
	o.Table, o.Layer, o.ViewType = cmp.Or(o.Table, tableName(s.TableARN)), i, s.view
	if e.options.ChangesOnly {
		o.Layer = 1 // the full export that it continues is layer 0
	}
	return record.NewSnapshotDecoder(o)
}

// tableName returns NAME of the ARN arn:aws:dynamodb:REGION:ACCOUNT:table/NAME.
func tableName(arn string) string {
	_, name, _ := strings.Cut(arn, ":table/")
	return name
}

// Info describes the export. Info.Source has the folders of all layers.
func (e *Export) Info() snapshot.Info { return e.info }

// Parts returns the data files of all layers: "0/m5thsc5ldmhvkxpfzzfoaliziu.json.gz" is a file of the full export.
func (e *Export) Parts() []snapshot.Part { return e.parts }

// Open opens a data file after a position. The position is the number of the file's items before it.
func (e *Export) Open(ctx context.Context, id string, from pipeline.Position) (snapshot.Reader, error) {
	f := e.files[id]
	if f == nil {
		return nil, errs.Errorf("export: there is no part %q in %s", id, redact.Safe(e.info.Source))
	}
	d := e.options.Decoder
	switch {
	case len(d.Keys) == 0:
		return nil, errs.New(
			"export: the names of the table's key attributes are missing, and an export has none: give them with --keys, partition key first")
	case d.StreamARN == "" && !d.EpochZero && !d.Kinesis:
		return nil, errs.New("export: the stream whose changes follow the export is missing: give its ARN with --stream-arn")
	}
	itemsRead := int64(0)
	if from != "" {
		var err error
		itemsRead, err = strconv.ParseInt(string(from), 10, 64)
		if err != nil || itemsRead < 0 || itemsRead > f.items {
			return nil, errs.Errorf("export: %q is not a position in the data file %s, which has %d items: begin this part again",
				redact.Safe(from), f.location(), f.items)
		}
	}
	r := &reader{file: f, items: itemsRead}
	r.ctx, r.cancel = context.WithCancelCause(ctx)
	return r, nil
}
