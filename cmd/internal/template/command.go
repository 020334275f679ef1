package template

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks"
	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// flags are the flags of template.
type flags struct {
	config   string
	output   string
	runner   string
	redrive  bool
	code     string
	identity bool
	limit    int
}

// New returns the command template.
func New(s cli.Streams) *cobra.Command {
	var o flags
	c := &cobra.Command{
		Use:   "template -c FILE",
		Short: "Print what a configuration needs to run as a Lambda function",
		Long: `template prints what a configuration needs to run: the FilterCriteria of an event source mapping,
with which Lambda drops what no sink needs; IAM policies with only the actions that are called; a
whole SAM or Terraform template with both; or a CloudFormation stack with the tables, buckets,
queues, topics and buses in which the pipeline stores. It explains each part, and names the
conditions that Lambda cannot check, with the reason. It makes no connections.`,
		Example: `  tablewake template -c config/tablewake.yaml > template.yaml
  tablewake template -c config/tablewake.yaml -o cloudformation > storage.yaml
  tablewake template -c config/tablewake.yaml -o filters
  tablewake template -c config/tablewake.yaml -o policies --for consumer
  tablewake template -c config/tablewake.yaml -o terraform > tablewake.tf`,
		Args: cli.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.checkFlags(c); err != nil {
				return err
			}
			return o.run(s)
		},
	}
	cli.AddConfig(c, &o.config)
	f := c.Flags()
	f.StringVarP(&o.output, "output", "o", "sam",
		"what to print: filters, policies, sam, cloudformation (what the pipeline stores in) or terraform")
	f.StringVar(&o.runner, "for", "lambda",
		"with -o policies, whose: lambda, consumer, backfill, audit, tail, or create (who makes what --create makes); with -o cloudformation, consumer adds the lease table")
	f.BoolVar(&o.redrive, "redrive", false,
		"with -o policies: include the rights to redrive dead letters (default if the file says redrive: auto)")
	f.StringVar(&o.code, "code", "",
		"with -o sam or terraform: the archive with the bootstrap (default tablewake-lambda.zip)")
	f.BoolVar(&o.identity, "match-user-identity", false,
		"let Lambda's filters recognize TTL deletes by userIdentity; AWS does not document that filters see it")
	f.IntVar(&o.limit, "patterns", pushdown.DefaultLimit,
		"maximum number of patterns of an event source mapping; up to 10 with a raised quota")
	return c
}

// checkFlags returns an error if a flag of the command line has no effect on the output.
func (o *flags) checkFlags(c *cobra.Command) error {
	for _, f := range []struct {
		name    string
		outputs []string
	}{
		{"for", []string{"policies", "cloudformation"}},
		{"redrive", []string{"policies"}},
		{"code", []string{"sam", "terraform"}},
		{"match-user-identity", []string{"filters", "sam", "terraform"}},
		{"patterns", []string{"filters", "sam", "terraform"}},
	} {
		if c.Flags().Changed(f.name) && !slices.Contains(f.outputs, o.output) {
			return cli.Usagef("--%s goes with -o %s; this is -o %s", f.name, strings.Join(f.outputs, " or "), o.output)
		}
	}
	canOwnStorage := o.runner == "lambda" || o.runner == "consumer"
	if o.output == "cloudformation" && !canOwnStorage {
		return cli.Usagef(
			"-o cloudformation goes with --for lambda or consumer, whose lease table it adds; --for %s goes with -o policies",
			o.runner)
	}
	return nil
}

func (o *flags) run(s cli.Streams) error {
	runners := map[string]policy.Runner{
		"lambda": policy.Function, "consumer": policy.Consumer, "create": policy.Creator, "backfill": policy.Backfill,
		"audit": policy.Audit, "tail": policy.Tail,
	}
	runner, isRunner := runners[o.runner]
	if !isRunner {
		return cli.Usagef("--for %q is nobody: write lambda, consumer, backfill, audit, tail or create", o.runner)
	}
	if o.limit < 1 || o.limit > pushdown.MaxLimit {
		return cli.Usagef("--patterns %d: Lambda takes 1 to %d", o.limit, pushdown.MaxLimit)
	}
	cfg, err := cli.LoadConfig(o.config)
	if err != nil {
		return err
	}
	if len(cfg.LocalOnly) > 0 {
		return cli.WithExitCode(cli.ExitConfig, cfg.LocalOnly)
	}
	options, err := o.options(s, cfg, runner)
	if err != nil {
		return err
	}
	writers := map[string]func(io.Writer, *config.Config, Options) error{
		"filters": Filters, "policies": Policies, "sam": SAM, "terraform": Terraform, "cloudformation": CloudFormation,
	}
	write, isOutput := writers[o.output]
	if !isOutput {
		return cli.Usagef("-o %q cannot be printed: write filters, policies, sam, cloudformation or terraform", o.output)
	}
	var text bytes.Buffer
	if err := write(&text, cfg, options); err != nil {
		return err
	}
	o.printWarnings(s.Err, cfg, options)
	_, err = s.Out.Write(text.Bytes())
	return err
}

// options returns what the output depends on beside the configuration.
func (o *flags) options(s cli.Streams, cfg *config.Config, runner policy.Runner) (Options, error) {
	file, err := os.ReadFile(cfg.File)
	if err != nil {
		return Options{}, fmt.Errorf("read configuration: %w", err)
	}
	return Options{
		Pushdown: pushdown.Options{MatchUserIdentity: o.identity, Limit: o.limit,
			FunctionEntities: sinks.OnEntities(s.Extensions...)},
		Runner: runner, Redrive: o.redrive, Code: o.code,
		Environment: ReadEnvironment(file, cfg.Name, os.LookupEnv),
	}, nil
}

// printWarnings prints what the user has to know or to do about the output.
func (o *flags) printWarnings(w io.Writer, cfg *config.Config, options Options) {
	deploysFunction := o.output == "sam" || o.output == "terraform"
	if deploysFunction && cfg.SinkWithoutDeadLetters() != nil {
		fmt.Fprintln(w, cli.Warning+
			"the file has no dead_letters: a change that a sink can never write holds up its shard until Lambda gives its batch up, "+
			"and fails again in the function Redrive; add dead_letters: {bucket: NAME}")
	}
	if o.output == "policies" {
		_, domains := rightsWithPlaceholders(cfg, options)
		for _, domain := range domains {
			fmt.Fprintf(w, cli.Warning+
				"the endpoint of the connection %s does not have the name of its OpenSearch domain: put the name in place of %s\n",
				domain.Connection, domain.Placeholder())
		}
	}
}
