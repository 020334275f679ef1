package template

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Policies prints the rights of o.Runner as a policy document in YAML for CloudFormation. REGION and ACCOUNT in the
// document are placeholders. The unknown name of a domain is a placeholder, too.
func Policies(w io.Writer, cfg *config.Config, o Options) error {
	who := map[policy.Runner]string{
		policy.Function: "a Lambda function", policy.Consumer: "`tablewake consume`", policy.Backfill: "`tablewake backfill`",
		policy.Creator: "who makes tables, buckets, queues, topics and buses (--create)", policy.Audit: "`tablewake audit`",
		policy.Tail: "`tablewake tail`",
	}[o.Runner]
	fmt.Fprintf(w, "# What %s may do for the pipeline %s. Put your Region and account in place of REGION and ACCOUNT.\n",
		who, cfg.Name)
	if o.Runner == policy.Backfill || o.Runner == policy.Audit {
		fmt.Fprintln(w, "# Put the bucket of the exports in place of EXPORT-BUCKET, or leave the statements of exports out.")
	}
	rights, domains := placeheldRights(cfg, o)
	for _, d := range domains {
		fmt.Fprintf(w,
			"# Put the name of the domain of the connection %s, which its endpoint does not have, in place of %s.\n",
			d.Connection, d.Placeholder())
	}
	fmt.Fprintln(w, "Version: '2012-10-17'\nStatement:")
	_, err := io.WriteString(w, statements(rights, "  ", false))
	return err
}

// placeheldRights returns the statements of the policy, and the domains that have a placeholder in the statements.
func placeheldRights(cfg *config.Config, o Options) ([]policy.Statement, []domain) {
	named, domains := nameDomains(cfg)
	rights := policy.Statements(named, policy.Options{Runner: o.Runner, Redrive: o.Redrive})
	domains = slices.DeleteFunc(domains, func(d domain) bool { return !hasDomainARN(rights, d.name) })
	return referDomains(rights, domains, domain.Placeholder), domains
}

// statements formats statements as a YAML list. If sub is set, texts with references get the tag !Sub, which
// CloudFormation needs to resolve them.
func statements(ss []policy.Statement, indent string, sub bool) string {
	var b strings.Builder
	for _, s := range ss {
		fmt.Fprintf(&b, "%s- Sid: %s # %s\n%s  Effect: Allow\n%s  Action: [%s]\n", indent, s.Sid, s.Why, indent, indent,
			yamlList(s.Actions, false))
		fmt.Fprintf(&b, "%s  Resource: %s\n", indent, oneOrList(s.Resources, sub))
		if len(s.Conditions) > 0 {
			fmt.Fprintf(&b, "%s  Condition:\n", indent)
		}
		for _, c := range s.Conditions {
			fmt.Fprintf(&b, "%s    %s: {%s: %s}\n", indent, yamlText(c.Operator), yamlText(c.Key), oneOrList(c.Values, sub))
		}
	}
	return b.String()
}

func oneOrList(texts []string, sub bool) string {
	if len(texts) == 1 {
		return yamlScalar(texts[0], sub)
	}
	return "[" + yamlList(texts, sub) + "]"
}

func yamlList(texts []string, sub bool) string {
	quoted := make([]string, len(texts))
	for i, t := range texts {
		quoted[i] = yamlScalar(t, sub)
	}
	return strings.Join(quoted, ", ")
}

// yamlScalar formats a text as a YAML scalar, with quotes only if YAML needs them. If sub is set, a text with
// references gets the tag !Sub.
func yamlScalar(s string, sub bool) string {
	quoted := yamlText(s)
	if s == "true" || s == "false" { // without quotes, YAML would read a boolean
		return quoted
	}
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/.-_") == "" &&
		!strings.HasSuffix(s, ":") {
		quoted = s
	}
	if sub && strings.Contains(s, "${") {
		return "!Sub " + quoted
	}
	return quoted
}
