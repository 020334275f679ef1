package template

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Variable is an environment variable that a configuration uses.
type Variable struct {
	Name   string
	Value  string // the value as a YAML scalar
	Text   string // the value itself; of a secret: ssm:NAME
	Secret bool   // the value may be a secret, so Value is ssm:NAME
	SSM    string // of a secret: name of its SSM parameter
}

var (
	variable = regexp.MustCompile(`(^|[^$])\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

	// login matches a URL that may have credentials: user:password@, or a query with a token.
	login     = regexp.MustCompile(`://[^/]*@|://.*\?`)
	authority = regexp.MustCompile(`://[^/]*$`)
)

// ReadEnvironment returns the variables that a valid configuration uses, in their order, for the environment of a
// function. The value of a variable is the result of getenv. The value of a secret is the reference
// ssm:/tablewake/PIPELINE/NAME instead. A variable is a secret if it is in hmac_key, password or the settings of a Go
// sink (with). It is also a secret if its value is a URL with a login or a query.
func ReadEnvironment(file []byte, pipeline string, getenv func(string) (string, bool)) []Variable {
	e := environment{getenv: getenv, seen: map[visit]bool{}}
	var document yaml.Node
	if yaml.Unmarshal(file, &document) == nil {
		e.read(&document, false)
	}
	// A variable without a value needs no entry, because the configuration has a default for it.
	vs := slices.DeleteFunc(e.vs, func(v Variable) bool { return v.Value == "" && !v.Secret })
	for i := range vs {
		if vs[i].Secret {
			vs[i].SSM = "/tablewake/" + pipeline + "/" + vs[i].Name
			vs[i].Text = "ssm:" + vs[i].SSM
			vs[i].Value = vs[i].Text
		}
	}
	return vs
}

// environment collects the variables of a configuration.
type environment struct {
	getenv func(string) (string, bool)
	vs     []Variable
	seen   map[visit]bool // visited nodes, because aliases can make a cycle
}

type visit struct {
	node   *yaml.Node
	secret bool
}

// read collects the variables of a node and of its children. If secret is set, all these variables are secrets.
func (e *environment) read(n *yaml.Node, secret bool) {
	if n == nil || e.seen[visit{n, secret}] {
		return
	}
	e.seen[visit{n, secret}] = true
	e.scalar(n.Value, secret)
	e.read(n.Alias, secret)
	for i, part := range n.Content {
		childSecret := secret
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			childSecret = childSecret || slices.Contains([]string{"hmac_key", "password", "with"}, n.Content[i-1].Value)
		}
		e.read(part, childSecret)
	}
}

// scalar collects the variables of a text.
func (e *environment) scalar(text string, secret bool) {
	for _, match := range variable.FindAllStringSubmatchIndex(text, -1) {
		name := text[match[4]:match[5]]
		i := slices.IndexFunc(e.vs, func(v Variable) bool { return v.Name == name })
		if i < 0 {
			e.vs = append(e.vs, Variable{Name: name})
			i = len(e.vs) - 1
		}
		value, set := e.getenv(name)
		if set {
			e.vs[i].Value, e.vs[i].Text = yamlText(value), value
		}
		within := authority.MatchString(text[:match[4]]) && strings.Contains(text[match[5]:], "@")
		e.vs[i].Secret = e.vs[i].Secret || secret || within || login.MatchString(value)
	}
}
