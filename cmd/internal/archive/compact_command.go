package archive

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/target"
	"github.com/tablewake/tablewake/sinks/archive"
	archivedir "github.com/tablewake/tablewake/sinks/archive/dir"
	"github.com/tablewake/tablewake/sinks/local"
)

// compactOptions are the flags of compact.
type compactOptions struct {
	dryRun  bool
	small   byteSize
	target  byteSize
	class   string
	key     string
	several bool
	format  cli.Format
}

// NewCompact is the command compact.
func NewCompact(s cli.Streams) *cobra.Command {
	o := compactOptions{target: 64e6}
	c := &cobra.Command{
		Use:   "compact (s3://BUCKET/PREFIX | DIR)",
		Short: "Combine small objects of an archive's log into large ones",
		Long: `compact combines the small objects of an archive's log into large ones, folder by folder, in S3 or
in a folder on this machine. It writes a large object and reads it back before it removes the
small ones. If it is interrupted in between, changes exist twice, and readers return them once.
To continue, run the same command again.

compact leaves objects of other storage classes and objects with one change alone. It keeps tags:
it does not combine objects with different tags. Run it while nobody reads the archive. Pipelines
may write to a bucket at the same time, but not to a --local folder. Lifecycle rules count the age
of a large object from its creation.

compact needs s3:ListBucket, s3:GetObject, s3:GetObjectTagging, s3:PutObject, s3:PutObjectTagging
and s3:DeleteObject.`,
		Example: `  tablewake compact s3://audit/changes/ --dry-run
  tablewake compact s3://audit/changes/dt=2026-01-31/ --target 128MB
  tablewake compact out/archive/shop-archive`,
		Args: cli.ArgumentRange(1, 1, "(s3://BUCKET/PREFIX | DIR)"),
		RunE: func(c *cobra.Command, args []string) error { return o.run(c.Context(), s, args[0]) },
	}
	f := c.Flags()
	f.BoolVar(&o.dryRun, "dry-run", false, "show what would be done, and change nothing")
	f.Var(&o.small, "min-bytes", "combine objects below this size (default a quarter of --target)")
	f.Var(&o.target, "target", "approximate size of the large objects")
	f.StringVar(&o.class, "storage-class", "STANDARD", "storage class of the small objects and of the large ones")
	f.StringVar(&o.key, "kms-key", "", "key that encrypts the large objects (default the bucket's encryption)")
	f.BoolVar(&o.several, "several-tables", false, "the archive was written from several source tables")
	cli.AddFormat(c, &o.format)
	return c
}

func (o *compactOptions) run(ctx context.Context, s cli.Streams, location string) (err error) {
	if o.small > o.target {
		return cli.Usagef("--min-bytes %s is above --target %s", &o.small, &o.target)
	}
	store, prefix, release, err := o.openArchive(ctx, location)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	bar := cli.NewCountProgress(s.Err, "rolled up")
	done, err := archive.Compact(ctx, archive.CompactOptions{
		Store: store, Prefix: prefix, Class: o.class, Small: int64(o.small), Target: int64(o.target), DryRun: o.dryRun,
		TableInKey: o.several,
		Progress:   func(p archive.CompactProgress) { bar.Update(p.Objects, 0) },
	})
	bar.End()
	if err == nil && done.Objects+done.Unchanged+done.UnchangedByClass == 0 {
		fmt.Fprintf(s.Err, cli.Warning+"%s has no object of an archive's log: is this the place of the archive?\n", location)
	}
	hasResult := err == nil || done.Large > 0
	if hasResult || o.format == cli.FormatJSON {
		err = cmp.Or(err, o.printResult(s, done))
	}
	return cli.Interrupted(ctx, err)
}

// openArchive opens the archive at location. If the archive is in a --local folder, openArchive locks that folder, and
// release unlocks it.
func (o *compactOptions) openArchive(
	ctx context.Context, location string,
) (_ archive.Remover, prefix string, release func() error, err error) {
	if target.IsS3(location) {
		store, prefix, err := target.OpenS3(ctx, location, target.S3Options{StorageClass: o.class, KMSKey: o.key})
		return store, prefix, releaseNothing, err
	}
	path, err := filepath.Abs(location)
	if err != nil {
		return nil, "", nil, err
	}
	if _, err := os.Stat(path); err != nil {
		return nil, "", nil, err
	}
	if release, err = lockLocalFolder(path); err != nil {
		return nil, "", nil, err
	}
	store, err := archivedir.New(archivedir.Options{Dir: path})
	if err != nil {
		return nil, "", nil, errors.Join(err, release())
	}
	return store, "", release, nil
}

// lockLocalFolder locks the --local folder that has the archive at path. release unlocks it. It locks nothing if the
// archive is not in a --local folder.
func lockLocalFolder(path string) (release func() error, err error) {
	folder := filepath.Dir(filepath.Dir(path))
	hasArchivePath := filepath.Dir(path) == local.Dir(folder).Archives()
	if !hasArchivePath || target.CheckLocalFolder(folder) != nil {
		return releaseNothing, nil //nolint:nilerr // the folder is no --local folder
	}
	opened, err := local.Open(folder)
	if err != nil {
		return nil, err
	}
	return opened.Close, nil
}

func releaseNothing() error { return nil }

// compacted is the output of `compact -o json`.
type compacted struct {
	DryRun     bool  `json:"dry_run"`
	Objects    int64 `json:"objects"`
	Bytes      int64 `json:"bytes"`
	Large      int64 `json:"large"`
	LargeBytes int64 `json:"large_bytes"`
	Left       int64 `json:"left"`
	LeftClass  int64 `json:"left_in_class"`
}

func (o *compactOptions) printResult(s cli.Streams, p archive.CompactProgress) error {
	if o.format == cli.FormatJSON {
		return cli.WriteJSON(s.Out, compacted{o.dryRun, p.Objects, p.Bytes, p.Large, p.LargeBytes, p.Unchanged,
			p.UnchangedByClass})
	}
	verb, size := "rolled", fmt.Sprintf(" (%s)", cli.Count(p.LargeBytes, "byte"))
	if o.dryRun {
		verb, size = "would roll", ""
	}
	fmt.Fprintf(s.Out, "%s %s (%s) into %s%s\n", verb, cli.Count(p.Objects, "object"), cli.Count(p.Bytes, "byte"),
		cli.Thousands(p.Large), size)
	fmt.Fprintf(s.Out, "left alone: %s large enough or alone, %s of another storage class\n", cli.Thousands(p.Unchanged),
		cli.Thousands(p.UnchangedByClass))
	return nil
}

// byteSize is the value of a flag: 64MB is 64 x 10^6 bytes, 64MiB is 64 x 2^20.
type byteSize int64

var (
	sizes     = regexp.MustCompile(`^([0-9]{1,9})(B|KB|MB|GB|KiB|MiB|GiB)?$`)
	sizeUnits = map[string]int64{"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20,
		"GiB": 1 << 30}
)

// String returns the size in bytes, or "" if the size is 0.
func (b *byteSize) String() string {
	if *b == 0 {
		return ""
	}
	return strconv.FormatInt(int64(*b), 10)
}

// Type returns the name of the flag's type in the help text.
func (b *byteSize) Type() string { return "size" }

// Set parses a size, like 64MB.
func (b *byteSize) Set(s string) error {
	match := sizes.FindStringSubmatch(s)
	if match == nil {
		return fmt.Errorf("%q is not a size: write it as 64MB, 64MiB or in bytes", s)
	}
	number, err := strconv.ParseInt(match[1], 10, 64)
	*b = byteSize(number * sizeUnits[match[2]])
	if err == nil && *b == 0 {
		err = errors.New("it must be above 0")
	}
	return err
}
