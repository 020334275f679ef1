package initconfig

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/sample"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
)

// options are the flags of init.
type options struct {
	table  string
	sample []string
	keys   []string
	out    string

	modulePath string // path of the Go module to write; "": none
	version    string // version of the program
}

// New returns the command init.
func New(s cli.Streams) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "init --table NAME | --sample FILE",
		Short: "Write a first configuration from some items of a table",
		Long: `init writes a first configuration. It has the kinds of items, found by their keys; their attributes
with types; the attributes whose names look sensitive; one view; and other sinks as comments. init
reads up to 1,024 items of a table, or a sample: records, an export, lines with an item each in
DynamoDB JSON, or the output of ` + "`aws dynamodb scan`" + `.

--module also writes a Go module for your own code, beside the file: the command line (main.go), the
bootstrap of a Lambda function, one example sink, which the file names, and a Dockerfile.

init writes no values of items, except parts of keys that name a kind: prefixes, such as USER#, and
sort keys that are common or that several items have, such as META. It overwrites no file and
changes nothing else. With both --table and --sample, it does not read the table, but writes its name.`,
		Example: `  tablewake init --sample stream.jsonl
  tablewake init --table shop
  tablewake init --table shop --module example.com/shop
  tablewake init --table shop --sample items.jsonl --keys PK,SK --out shop.yaml`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			o.version = c.Root().Version
			return o.run(c.Context(), s)
		},
	}
	f := c.Flags()
	f.StringVar(&o.table, "table", "", "name of the table")
	f.StringArrayVar(&o.sample, "sample", nil, "file or folder of items to learn from, instead of the table")
	f.StringSliceVar(&o.keys, "keys", nil,
		"names of the table's key attributes, partition key first (default: those of the table or the records)")
	f.StringVar(&o.out, "out", "tablewake.yaml", "file to write; - is standard output")
	f.StringVar(&o.modulePath, "module", "", "also write a Go module with this path, for your own code")
	return c
}

func (o *options) run(ctx context.Context, s cli.Streams) error {
	if o.table == "" && len(o.sample) == 0 {
		return cli.Usagef("name a table with --table, or items of it with --sample")
	}
	files, err := o.module()
	if err != nil {
		return err
	}
	if err := o.checkNew(files); err != nil {
		return err
	}
	items, err := o.read(ctx, s)
	if err != nil {
		return err
	}
	text, err := o.configuration(items)
	if err != nil {
		return err
	}
	if o.out == "-" {
		_, err := fmt.Fprint(s.Out, text)
		return err
	}
	for _, f := range append([]file{{o.out, text}}, files...) {
		if err := o.write(f); err != nil {
			return err
		}
	}
	o.printNext(s, len(items.Items))
	return nil
}

// checkNew returns an error if a file to write exists.
func (o *options) checkNew(files []file) error {
	for _, f := range append([]file{{path: o.out}}, files...) {
		_, err := os.Stat(f.path)
		exists := err == nil && f.path != "-"
		if exists {
			return o.existsError(f.path)
		}
	}
	return nil
}

// configuration returns the text of the configuration, and checks that it is valid.
func (o *options) configuration(items *sample.Sample) (string, error) {
	if err := o.setKeys(items); err != nil {
		return "", err
	}
	d := newDraft(items)
	d.module = o.modulePath != ""
	text := d.write()
	if _, err := config.Parse(o.out, []byte(text), func(string) (string, bool) { return "", false }); err != nil {
		return "", fmt.Errorf("the configuration that was made is not valid, which is a bug of tablewake: %w", err)
	}
	return text, nil
}

// printNext prints the written files, the number of items, and the next steps.
func (o *options) printNext(s cli.Streams, items int) {
	from := cli.Count(items, "item")
	if o.modulePath == "" {
		fmt.Fprintf(s.Out, "wrote %s from %s: look at it, then `tablewake validate -c %[1]s`\n", o.out, from)
		return
	}
	fmt.Fprintf(s.Out, "wrote %s from %s, and the module %s beside it\n", o.out, from, o.modulePath)
	dir := filepath.Dir(o.out)
	if o.requiredVersion() == "" {
		fmt.Fprintf(s.Out, "this program does not know its version: in %s run `go get %s@VERSION`, "+
			"or `go mod edit -replace %[2]s=CLONE` for a clone of its repository\n", dir, tablewakeModule)
	}
	fmt.Fprintf(s.Out, "in %s run `go mod tidy`, look at the files, then `go run . validate -c %s`\n",
		dir, filepath.Base(o.out))
}

// write writes a file, and creates missing folders. If the file exists, it returns an error.
func (o *options) write(f file) error {
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return err
	}
	w, err := os.OpenFile(f.path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return o.existsError(f.path)
	}
	if err != nil {
		return err
	}
	_, err = w.WriteString(f.text)
	return errors.Join(err, w.Close())
}

// existsError returns the error of a file that exists already.
func (o *options) existsError(path string) error {
	alternative := "another file"
	if path != o.out {
		alternative = "a file in another folder"
	}
	return cli.Usagef("%s is there already, and init overwrites nothing: name %s with --out", path, alternative)
}

// read reads the items of the sample, or of the table if there is no sample. With both flags it takes only the name of
// the table from --table.
func (o *options) read(ctx context.Context, s cli.Streams) (*sample.Sample, error) {
	if len(o.sample) == 0 {
		return sample.Scan(ctx, s, o.table)
	}
	items, err := sample.Read(ctx, s, o.sample)
	if err != nil || o.table == "" {
		return items, err
	}
	items.Table = o.table
	if _, resource, isARN := strings.Cut(o.table, ":table/"); isARN {
		items.Table, _, _ = strings.Cut(resource, "/")
	}
	return items, nil
}

// setKeys sets the names of the key attributes. It takes them from --keys. Without --keys it takes the names that the
// sample declares, or else the names that guessKeys finds. It returns an error if an item lacks one of these
// attributes.
func (o *options) setKeys(s *sample.Sample) error {
	switch {
	case len(o.keys) > 2:
		return cli.Usagef("--keys takes one or two names, as in PK,SK")
	case len(o.keys) > 0:
		s.Keys = o.keys
	case s.Keys == nil:
		s.Keys = guessKeys(s.Items)
	}
	if len(s.Keys) == 0 {
		return cli.Usagef("the sample does not show which attributes are the key: name them with --keys, as in --keys PK,SK")
	}
	for i, m := range s.Items {
		for _, name := range s.Keys {
			if _, found := m.Get(name); !found {
				return cli.Usagef("item %d of the sample has no %s: name the key attributes of the table with --keys", i+1, name)
			}
		}
	}
	return nil
}

// keyNames are usual names of a partition key and a sort key. "" means that there is no sort key.
var keyNames = [][2]string{{"PK", "SK"}, {"pk", "sk"}, {"partitionKey", "sortKey"}, {"PartitionKey", "SortKey"},
	{"hashKey", "rangeKey"}, {"PK", ""}, {"pk", ""}, {"id", ""}, {"Id", ""}, {"ID", ""}}

// guessKeys returns the first of keyNames that all items have. It returns nil if there is none.
func guessKeys(items []item.Image) []string {
	for _, pair := range keyNames {
		names := slices.DeleteFunc(pair[:], func(name string) bool { return name == "" })
		if allHave(items, names) {
			return names
		}
	}
	return nil
}

// allHave reports whether all items have all of the named attributes.
func allHave(items []item.Image, names []string) bool {
	for _, m := range items {
		for _, name := range names {
			if _, found := m.Get(name); !found {
				return false
			}
		}
	}
	return true
}
