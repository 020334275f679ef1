package template

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Policies prints the rights of o.Runner as a policy document in YAML for CloudFormation. REGION and ACCOUNT in the
// document are placeholders. The unknown name of a domain is a placeholder, too.
func Policies(w io.Writer, cfg *config.Config, o Options) error {
	runner := map[policy.Runner]string{
		policy.Function: "a Lambda function", policy.Consumer: "`tablewake consume`", policy.Backfill: "`tablewake backfill`",
		policy.Creator: "who makes tables, buckets, queues, topics and buses (--create)", policy.Audit: "`tablewake audit`",
		policy.Tail: "`tablewake tail`",
	}[o.Runner]
	fmt.Fprintf(w, "# What %s may do for the pipeline %s. Put your Region and account in place of REGION and ACCOUNT.\n",
		runner, cfg.Name)
	if o.Runner == policy.Backfill || o.Runner == policy.Audit {
		fmt.Fprintln(w, "# Put the bucket of the exports in place of EXPORT-BUCKET, or leave the statements of exports out.")
	}
	rights, domains := rightsWithPlaceholders(cfg, o)
	for _, d := range domains {
		fmt.Fprintf(w,
			"# Put the name of the domain of the connection %s, which its endpoint does not have, in place of %s.\n",
			d.Connection, d.Placeholder())
	}
	fmt.Fprintln(w, "Version: '2012-10-17'\nStatement:")
	_, err := io.WriteString(w, statements(rights, "  ", plainTexts))
	return err
}

// rightsWithPlaceholders returns the statements of the policy, and the domains that have a placeholder in them.
func rightsWithPlaceholders(cfg *config.Config, o Options) ([]policy.Statement, []domain) {
	named, domains := nameDomains(cfg)
	rights := policy.Statements(named, policy.Options{Runner: o.Runner, Redrive: o.Redrive})
	domains = slices.DeleteFunc(domains, func(d domain) bool { return !hasDomainARN(rights, d.name) })
	renameDomains(rights, domains, domain.Placeholder)
	return rights, domains
}

// textForm is the form of texts in a policy.
type textForm int

const (
	plainTexts    textForm = iota
	withReference          // texts with references have the tag !Sub, which CloudFormation needs to resolve them
)

// statements formats statements as a YAML list.
func statements(rights []policy.Statement, indent string, form textForm) string {
	var b strings.Builder
	for _, s := range rights {
		fmt.Fprintf(&b, "%s- Sid: %s # %s\n%s  Effect: Allow\n%s  Action: [%s]\n", indent, s.Sid, s.Why, indent, indent,
			yamlList(s.Actions, plainTexts))
		fmt.Fprintf(&b, "%s  Resource: %s\n", indent, oneOrList(s.Resources, form))
		if len(s.Conditions) > 0 {
			fmt.Fprintf(&b, "%s  Condition:\n", indent)
		}
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, "%s    %s: {%s: %s}\n", indent, yamlbind.Quoted(c.Operator), yamlbind.Quoted(c.Key),
				oneOrList(c.Values, form))
		}
	}
	return b.String()
}

func oneOrList(texts []string, form textForm) string {
	if len(texts) == 1 {
		return yamlScalar(texts[0], form)
	}
	return "[" + yamlList(texts, form) + "]"
}

func yamlList(texts []string, form textForm) string {
	scalars := make([]string, len(texts))
	for i, t := range texts {
		scalars[i] = yamlScalar(t, form)
	}
	return strings.Join(scalars, ", ")
}

// plainScalar matches texts that YAML reads as a text without quotes, except true and false.
var plainScalar = regexp.MustCompile(`^(?:[A-Za-z0-9:/._-]*[A-Za-z0-9/._-])?$`)

// yamlScalar formats a text as a YAML scalar, with quotes only if YAML needs them.
func yamlScalar(s string, form textForm) string {
	isBoolean := s == "true" || s == "false"
	switch {
	case form == withReference && strings.Contains(s, "${"):
		return "!Sub " + yamlbind.Quoted(s)
	case isBoolean || !plainScalar.MatchString(s):
		return yamlbind.Quoted(s)
	}
	return s
}
