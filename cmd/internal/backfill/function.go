package backfill

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	awssdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/tablewake/tablewake/cmd/internal/cli"
	"github.com/tablewake/tablewake/cmd/internal/stream"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/pushdown"
)

// functionSettleTime is how long a function or an event source mapping must be unchanged. An invocation takes 15 minutes at
// most, and the timeout of a function before its change is unknown. Polling after a change of a mapping begins within minutes
// (API reference, CreateEventSourceMapping).
const functionSettleTime = 15 * time.Minute

// lambdaAPI is the part of *lambda.Client that finds out what reads a stream.
type lambdaAPI interface {
	lambda.ListEventSourceMappingsAPIClient
	GetFunctionConfiguration(ctx context.Context, in *lambda.GetFunctionConfigurationInput, o ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error)
	GetEventSourceMapping(ctx context.Context, in *lambda.GetEventSourceMappingInput, o ...func(*lambda.Options)) (*lambda.GetEventSourceMappingOutput, error)
}

var _ lambdaAPI = (*lambda.Client)(nil)

// proveFunction returns an error unless the functions that read the stream, and their event source mappings, have been as
// this file says for so long that no older invocation runs.
func (j *job) proveFunction(ctx context.Context) error {
	switch {
	case len(j.o.functions) > 0:
		streams, err := j.sourceStreams(ctx)
		if err != nil {
			return err
		}
		p := functionProof{api: lambda.NewFromConfig(j.aws), cfg: j.cfg, streams: streams, out: j.streams.Err}
		since, err := p.unchangedSince(ctx, j.o.functions)
		if err != nil {
			return err
		}
		return checkSettled("the function or its mapping was changed at", since, time.Now())
	case j.o.deployedSince == "":
		return cli.Usagef("%s has no leases, so a Lambda function reads the stream: name it with --function, and every other function of this pipeline; or say with --deployed-since TIME since when the function, its mapping and its filter criteria are those of this file", j.cfg.File)
	}
	since, err := time.Parse(time.RFC3339, j.o.deployedSince)
	if err != nil {
		return cli.Usagef("--deployed-since %q is no time: write it as 2026-01-31T12:00:00Z", j.o.deployedSince)
	}
	return checkSettled("--deployed-since", since, time.Now())
}

// checkSettled returns an error if an invocation that began before since may still run.
func checkSettled(what string, since, now time.Time) error {
	if now.Sub(since) >= functionSettleTime {
		return nil
	}
	return cli.Usagef("%s %s: an invocation that began before may still run: repeat the command at %s or later",
		what, since.UTC().Format(time.RFC3339), since.Add(functionSettleTime+time.Second).UTC().Format(time.RFC3339))
}

// sourceStreams returns the ARNs of the streams that the event source mappings read.
func (j *job) sourceStreams(ctx context.Context) ([]string, error) {
	if j.cfg.Source.Kinesis != "" {
		return []string{j.cfg.Source.Kinesis}, nil
	}
	refs, err := stream.NewestStreams(ctx, j.api(), j.cfg)
	if err != nil {
		return nil, err
	}
	arns := make([]string, len(refs))
	for i, r := range refs {
		arns[i] = r.ARN
	}
	return arns, nil
}

// functionProof finds out since when functions and their event source mappings are as they are.
type functionProof struct {
	api     lambdaAPI
	cfg     *config.Config
	streams []string // ARNs: each needs a mapping
	out     io.Writer
}

// unchangedSince returns when one of the functions, or a mapping from a stream to one of them, was changed last. It returns
// an error if a stream is read by none of them, or a mapping may drop records that this file needs.
func (p *functionProof) unchangedSince(ctx context.Context, names []string) (time.Time, error) {
	var since time.Time
	functions := make(map[string]string, len(names)) // ARN without qualifier -> name as it was given
	for _, name := range names {
		arn, changed, err := p.function(ctx, name, "")
		if err != nil {
			return since, err
		}
		base, _ := splitQualifier(arn)
		functions[base] = name
		since = later(since, changed)
	}
	var others []string
	for _, streamARN := range p.streams {
		read := false
		mappings := lambda.NewListEventSourceMappingsPaginator(p.api, &lambda.ListEventSourceMappingsInput{EventSourceArn: &streamARN})
		for mappings.HasMorePages() {
			page, err := mappings.NextPage(ctx)
			if err != nil {
				return since, callError(ctx, "ListEventSourceMappings of "+streamARN, "lambda:ListEventSourceMappings on *", err)
			}
			for i := range page.EventSourceMappings {
				m := &page.EventSourceMappings[i]
				base, qualifier := splitQualifier(awssdk.ToString(m.FunctionArn))
				name, named := functions[base]
				if !named {
					others = append(others, base)
					continue
				}
				changed, err := p.mapping(ctx, m, name, qualifier)
				if err != nil {
					return since, err
				}
				since, read = later(since, changed), true
			}
		}
		if !read {
			return since, fmt.Errorf("no event source mapping sends the records of %s to %s: name the function that reads it with --function, or create the mapping", streamARN, strings.Join(names, " or "))
		}
	}
	slices.Sort(others)
	if others = slices.Compact(others); len(others) > 0 {
		fmt.Fprintf(p.out, cli.Warning+"these functions read the stream too: %s; if they belong to this pipeline, name them with --function\n", strings.Join(others, ", "))
	}
	fmt.Fprintf(p.out, "unchanged since %s: %s, with event source mappings of this file's filter criteria; that their configuration file is %s is taken on trust\n",
		since.UTC().Format(time.RFC3339), strings.Join(names, ", "), p.cfg.File)
	return since, nil
}

// function returns the ARN of a function, and when it was changed last. version is "" for a name that may have a qualifier.
func (p *functionProof) function(ctx context.Context, name, version string) (arn string, changed time.Time, err error) {
	in := &lambda.GetFunctionConfigurationInput{FunctionName: &name}
	if version != "" {
		in.Qualifier = &version
	}
	f, err := p.api.GetFunctionConfiguration(ctx, in)
	if err != nil {
		return "", changed, callError(ctx, "GetFunctionConfiguration of "+name, "lambda:GetFunctionConfiguration on the function", err)
	}
	switch f.LastUpdateStatus {
	case types.LastUpdateStatusInProgress:
		return "", changed, fmt.Errorf("the function %s is being updated: repeat the command when that has ended", name)
	case types.LastUpdateStatusFailed:
		return "", changed, fmt.Errorf("the last update of the function %s failed (%s), so that it may run what it had before: deploy it again, and repeat the command", name, f.LastUpdateStatusReasonCode)
	}
	changed, err = parseFunctionTime(awssdk.ToString(f.LastModified))
	if err != nil {
		return "", changed, fmt.Errorf("the function %s: %w", name, err)
	}
	return awssdk.ToString(f.FunctionArn), changed, nil
}

// mapping returns when a mapping, or the version of the function that it invokes, was changed last.
func (p *functionProof) mapping(ctx context.Context, m *types.EventSourceMappingConfiguration, name, qualifier string) (changed time.Time, err error) {
	id := awssdk.ToString(m.UUID)
	if state := awssdk.ToString(m.State); state != "Enabled" {
		return changed, fmt.Errorf("the event source mapping %s of the function %s is %s: enable it, or delete it if it is not used, and repeat the command", id, name, state)
	}
	if m.LastModified == nil {
		return changed, fmt.Errorf("Lambda does not say when the event source mapping %s was changed: use --deployed-since", id)
	}
	criteria := m.FilterCriteria
	if awssdk.ToString(m.KMSKeyArn) != "" { // a list does not show what is encrypted
		whole, err := p.api.GetEventSourceMapping(ctx, &lambda.GetEventSourceMappingInput{UUID: m.UUID})
		switch {
		case err != nil:
			return changed, callError(ctx, "GetEventSourceMapping of "+id, "lambda:GetEventSourceMapping, and kms:Decrypt on the mapping's key", err)
		case whole.FilterCriteriaError != nil:
			return changed, fmt.Errorf("the filter criteria of the event source mapping %s cannot be decrypted: %s: allow kms:Decrypt on %s, or use --deployed-since", id, awssdk.ToString(whole.FilterCriteriaError.ErrorCode), awssdk.ToString(m.KMSKeyArn))
		}
		criteria = whole.FilterCriteria
	}
	if ok, err := passesAll(p.cfg, criteria); err != nil || !ok {
		if err != nil {
			return changed, err
		}
		return changed, fmt.Errorf("the filter criteria of the event source mapping %s of the function %s are not those of %s, so that Lambda may drop records that a sink needs: set those that `tablewake template -c %s -o filters` prints, and repeat the command",
			id, name, p.cfg.File, p.cfg.File)
	}
	changed = *m.LastModified
	switch {
	case qualifier == "" || qualifier == "$LATEST":
	case strings.Trim(qualifier, "0123456789") == "":
		_, published, err := p.function(ctx, name, qualifier)
		if err != nil {
			return changed, err
		}
		changed = later(changed, published)
	default:
		return changed, fmt.Errorf("the event source mapping %s invokes the alias %s of the function %s, and Lambda does not say since when an alias has its version: use --deployed-since instead of --function", id, qualifier, name)
	}
	return changed, nil
}

// passesAll reports whether filter criteria pass each record that the sinks of cfg need: they are those of `tablewake
// template` with any of its flags, or there are none.
func passesAll(cfg *config.Config, criteria *types.FilterCriteria) (bool, error) {
	if criteria == nil || len(criteria.Filters) == 0 {
		return true, nil
	}
	var set []string
	for _, f := range criteria.Filters {
		set = append(set, canonicalPattern(awssdk.ToString(f.Pattern)))
	}
	slices.Sort(set)
	for limit := range pushdown.MaxLimit {
		for _, identity := range []bool{false, true} {
			plan, err := pushdown.New(cfg, pushdown.Options{MatchUserIdentity: identity, Limit: limit + 1})
			if err != nil {
				return false, err
			}
			var patterns []string
			for _, pattern := range plan.Patterns {
				patterns = append(patterns, canonicalPattern(pattern))
			}
			slices.Sort(patterns)
			if slices.Equal(set, patterns) {
				return true, nil
			}
		}
	}
	return false, nil
}

// canonicalPattern returns a pattern without blanks, its names sorted. It returns what is not JSON as it is.
func canonicalPattern(pattern string) string {
	d := json.NewDecoder(strings.NewReader(pattern))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return pattern
	}
	b, err := json.Marshal(v)
	if err != nil {
		return pattern
	}
	return string(b)
}

// splitQualifier splits the ARN of a function into that of the whole function and the version or alias; "" if there is none.
func splitQualifier(arn string) (base, qualifier string) {
	parts := strings.SplitN(arn, ":", 8) // arn:aws:lambda:REGION:ACCOUNT:function:NAME:QUALIFIER
	if len(parts) < 8 {
		return arn, ""
	}
	return strings.Join(parts[:7], ":"), parts[7]
}

// parseFunctionTime parses the LastModified of a function, 2026-01-31T12:00:00.000+0000.
func parseFunctionTime(text string) (time.Time, error) {
	for _, layout := range []string{"2006-01-02T15:04:05Z0700", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, nil
		}
	}
	return time.Time{}, fmt.Errorf("its LastModified is %q, which is no time: use --deployed-since", text)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func callError(ctx context.Context, op, right string, err error) error {
	return awserr.CallError(ctx, op, err, map[awserr.Kind]string{
		awserr.Denied:  "allow " + right + ", or use --deployed-since",
		awserr.Missing: "check name, Region and account",
	})
}
