package replay

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	awsconfig "github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/mask"
	"github.com/tablewake/tablewake/pipeline/record"
	"github.com/tablewake/tablewake/shardreader"
	"github.com/tablewake/tablewake/shardreader/sdk"
	"github.com/tablewake/tablewake/sinks"
)

// recordOptions are the flags of `record`.
type recordOptions struct {
	config, table, out        string
	region, profile, endpoint string
	idle                      time.Duration
	local                     bool
	unmasked                  bool
	format                    cli.Format
}

// NewRecord returns the command record.
func NewRecord(s cli.Streams) *cobra.Command {
	var o recordOptions
	c := &cobra.Command{
		Use:   "record (--table NAME_OR_ARN | -c FILE) --out FILE",
		Short: "Save a table's stream into a file that replay reads",
		Long: `record reads a table's stream from its oldest record, parents before children. It writes one record
a line, with the stream's ARN, in a form that replay reads. It ends at the newest record that
existed when it started. With --idle, it ends when no record has come for that time. The file
appears when it is complete. Names with .gz or .zst are compressed.

With -c, it masks the attributes that the configuration calls sensitive. Equal values stay equal,
and keys stay unless they are sensitive, so the file can be replayed. A record that cannot be
decoded is left out then. With --unmasked, without -c, or if the configuration has no "sensitive",
it masks nothing: protect such a file like the table.

Credentials and Region are found as by the AWS command line.`,
		Example: `  tablewake record --table shop --out stream.jsonl
  tablewake record --table arn:aws:dynamodb:eu-central-1:123456789012:table/shop/stream/2026-01-02T03:04:05.678 --out stream.jsonl.zst
  tablewake record -c tablewake.yaml --idle 10s --out stream.jsonl
  tablewake record --table shop --endpoint-url http://127.0.0.1:8000 --dynamodb-local --out stream.jsonl`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error { return o.run(c.Context(), s) },
	}
	f := c.Flags()
	f.StringVarP(&o.config, "config", "c", "", "the configuration that names the table and the sensitive attributes")
	f.StringVarP(&o.table, "table", "t", "", "table name, table ARN or stream ARN")
	f.StringVar(&o.out, "out", "", "file to write; - is standard output (required)")
	f.DurationVar(&o.idle, "idle", 0, "read on until no record has come for this long")
	f.StringVar(&o.region, "region", "", "AWS Region (default: the environment's)")
	f.StringVar(&o.profile, "aws-profile", "", "profile of the AWS configuration (default: AWS_PROFILE)")
	f.StringVar(&o.endpoint, "endpoint-url", "", "endpoint of the Streams API, for example of DynamoDB Local")
	f.BoolVar(&o.local, "dynamodb-local", false, "the server is DynamoDB Local: read {} as the empty map")
	f.BoolVar(&o.unmasked, "unmasked", false, "do not mask sensitive attributes")
	cli.AddFormat(c, &o.format)
	return c
}

func (o recordOptions) run(ctx context.Context, s cli.Streams) error {
	source, err := o.source()
	if err != nil {
		return err
	}
	switch {
	case o.out == "":
		return cli.Usagef("--out is missing: name the file to write")
	case o.idle < 0:
		return cli.Usagef("--idle is a time to wait, such as 10s, or 0 for none")
	}
	client, err := o.newClient(ctx)
	if err != nil {
		return err
	}
	if len(source.mask.Patterns()) == 0 {
		fmt.Fprintln(s.Err, "nothing will be masked in the recording: "+cli.Choose(o.config == "",
			"with -c FILE what it says is sensitive is", "treat it like the table"))
	}
	recording, err := o.record(ctx, s, client, source)
	switch {
	case err != nil && ctx.Err() != nil:
		return cli.WithExitCode(cli.ExitInterrupted, fmt.Errorf("interrupted: %s is not written", o.out))
	case err != nil:
		return err
	}
	w := s.Out
	if o.out == "-" { // which has the records
		w = s.Err
	}
	if o.format == cli.FormatJSON {
		return writeRecordingJSON(w, recording, source.maskedPaths())
	}
	o.writeRecording(w, recording, source.maskedPaths())
	return nil
}

// newClient returns the client for the Region, profile and endpoint of the flags.
func (o recordOptions) newClient(ctx context.Context) (*dynamodbstreams.Client, error) {
	cfg, err := awsconfig.LoadDefaultConfig(ctx, func(l *awsconfig.LoadOptions) error {
		l.Region, l.SharedConfigProfile = o.region, o.profile
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("AWS configuration: %w", err)
	}
	if cfg.Region == "" {
		return nil, cli.Usagef("no AWS Region: give --region, or set AWS_REGION")
	}
	return dynamodbstreams.NewFromConfig(cfg, func(c *dynamodbstreams.Options) {
		if o.endpoint != "" {
			c.BaseEndpoint = &o.endpoint
		}
	}), nil
}

// record records the table, and shows its progress.
func (o recordOptions) record(
	ctx context.Context, s cli.Streams, client *dynamodbstreams.Client, source recordSource,
) (shardreader.Recording, error) {
	bar := cli.NewProgress(s.Err, "recording "+source.table, 0)
	defer bar.End()
	options := shardreader.RecordOptions{
		API: sdk.New(client, record.DecoderOptions{DynamoDBLocal: source.local}), Source: source.table, Idle: o.idle,
		Mask:     source.mask,
		Progress: func(p shardreader.RecordProgress) { bar.UpdateBytes(p.Bytes, 0, p.Records) },
	}
	if source.local {
		options.EmptyPages = 2 // DynamoDB Local has no empty pages in the middle of a shard
	}
	if o.out == "-" {
		return shardreader.Record(ctx, s.Out, options)
	}
	return shardreader.RecordFile(ctx, o.out, options)
}

// recordSource is the table to record.
type recordSource struct {
	table string
	local bool       // the table is in DynamoDB Local
	mask  *mask.Mask // masks the records; nil if nothing is masked
}

// maskedPaths returns the patterns of the masked attributes.
func (s recordSource) maskedPaths() []string {
	paths := make([]string, 0, len(s.mask.Patterns()))
	for _, p := range s.mask.Patterns() {
		paths = append(paths, p.String())
	}
	return paths
}

// source returns the table that the flags or the configuration name.
func (o recordOptions) source() (recordSource, error) {
	source := recordSource{table: o.table, local: o.local}
	switch {
	case o.config == "" && o.table == "":
		return source, cli.Usagef("name a table with --table, or a configuration with -c")
	case o.config == "":
		return source, nil
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return source, err
	}
	if !o.unmasked {
		if source.mask, err = sinks.Mask(cfg); err != nil {
			return source, err
		}
	}
	source.local = o.local || cfg.Source.DynamoDBLocal
	if o.table != "" {
		return source, nil
	}
	if len(cfg.Source.Tables) != 1 {
		return source, cli.Usagef("%s names %d tables; choose one with --table", o.config, len(cfg.Source.Tables))
	}
	source.table = cmp.Or(cfg.Source.Tables[0].StreamARN, cfg.Source.Tables[0].Name)
	return source, nil
}

// writeRecordingJSON prints the counts of a recording as JSON.
func writeRecordingJSON(w io.Writer, r shardreader.Recording, maskedPaths []string) error {
	type gapJSON struct {
		Shard string
		After string
		Whole bool
	}
	gaps := []gapJSON{}
	for _, g := range r.Gaps {
		gaps = append(gaps, gapJSON{g.Shard, g.After, g.Whole})
	}
	return cli.WriteJSON(w, struct {
		Stream      string    `json:"stream"`
		Records     int64     `json:"records"`
		Bytes       int64     `json:"bytes"`
		Shards      int       `json:"shards"`
		Undecodable int64     `json:"undecodable"`
		Sensitive   []string  `json:"sensitive"` // patterns of the masked attributes
		Masked      int64     `json:"masked"`    // records with a masked attribute
		LeftOut     int64     `json:"left_out"`  // undecodable records, whose sensitive attributes are unknown
		Gaps        []gapJSON `json:"gaps"`
	}{r.Stream.ARN, r.Records, r.Bytes, r.Shards, r.Undecodable, maskedPaths, r.Masked, r.LeftOut, gaps})
}

// writeRecording prints the counts of a recording for people, and each gap: a range of records that the stream had
// dropped.
func (o recordOptions) writeRecording(w io.Writer, r shardreader.Recording, maskedPaths []string) {
	fmt.Fprintf(w, "%s of %s of %s in %s\n", cli.Count(r.Records, "record"), cli.Count(r.Shards, "shard"), r.Stream.ARN,
		o.out)
	if r.Undecodable > 0 {
		fmt.Fprintf(w, "%s of them could not be decoded, and are in the file as they came\n", cli.Thousands(r.Undecodable))
	}
	switch {
	case len(maskedPaths) > 0:
		fmt.Fprintf(w, "masked in %s of them: %s (--unmasked writes them as they are)\n", cli.Thousands(r.Masked),
			strings.Join(maskedPaths, ", "))
	case o.config == "":
		fmt.Fprintln(w, "nothing is masked: with -c FILE what it says is sensitive would be")
	default:
		fmt.Fprintln(w, "nothing is masked: treat the file like the table")
	}
	if r.LeftOut > 0 {
		fmt.Fprintf(w, "left out: %s that could not be decoded: what is sensitive there is unknown\n",
			cli.Count(r.LeftOut, "record"))
	}
	writeGaps(w, r.Gaps)
}

func writeGaps(w io.Writer, gaps []record.Gap) {
	for _, g := range gaps {
		from, to := "from its start", "to the oldest record left"
		if g.After != "" {
			from = "behind sequence number " + g.After
		}
		if g.Whole {
			to = "to its end"
		}
		fmt.Fprintf(w, "lost: shard %s, %s %s: the stream no longer had it\n", g.Shard, from, to)
	}
}
