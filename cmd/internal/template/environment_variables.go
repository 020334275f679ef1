package template

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
)

// Variable is an environment variable that a configuration uses.
type Variable struct {
	Name          string
	Value         string // the value as a YAML scalar
	Text          string // the value itself; for a secret: ssm:NAME
	Secret        bool   // the value may be a secret, so Value is ssm:NAME
	ParameterName string // for a secret: name of its SSM parameter
}

var (
	// variable matches ${NAME}, and $${, which is the text ${.
	variable = regexp.MustCompile(`\$\$\{|\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)

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
		const isSecret = false
		e.read(&document, isSecret)
	}
	// A variable without a value needs no entry, because the configuration has a default for it.
	variables := slices.DeleteFunc(e.variables, func(v Variable) bool { return v.Value == "" && !v.Secret })
	for i := range variables {
		v := &variables[i]
		if v.Secret {
			v.ParameterName = "/tablewake/" + pipeline + "/" + v.Name
			v.Text = "ssm:" + v.ParameterName
			v.Value = v.Text
		}
	}
	return variables
}

// environment collects the variables of a configuration.
type environment struct {
	getenv    func(string) (string, bool)
	variables []Variable
	seen      map[visit]bool // visited nodes, because aliases can make a cycle
}

type visit struct {
	node     *yaml.Node
	isSecret bool
}

// secretKeys are the keys of a configuration whose values are secrets.
var secretKeys = []string{"hmac_key", "password", "with"}

// read collects the variables of a node and of its children. If isSecret is set, all these variables are secrets.
func (e *environment) read(n *yaml.Node, isSecret bool) {
	if n == nil || e.seen[visit{n, isSecret}] {
		return
	}
	e.seen[visit{n, isSecret}] = true
	e.readText(n.Value, isSecret)
	e.read(n.Alias, isSecret)
	for i, child := range n.Content {
		isValue := n.Kind == yaml.MappingNode && i%2 == 1
		hasSecretKey := isValue && slices.Contains(secretKeys, n.Content[i-1].Value)
		e.read(child, isSecret || hasSecretKey)
	}
}

// readText collects the variables of a text.
func (e *environment) readText(text string, isSecret bool) {
	for _, match := range variable.FindAllStringSubmatchIndex(text, -1) {
		nameStart, nameEnd := match[2], match[3]
		if nameStart < 0 { // $${
			continue
		}
		v := e.variable(text[nameStart:nameEnd])
		value, isSet := e.getenv(v.Name)
		if isSet {
			v.Value, v.Text = yamlbind.Quoted(value), value
		}
		isInLogin := authority.MatchString(text[:nameStart]) && strings.Contains(text[nameEnd:], "@")
		if isSecret || isInLogin || login.MatchString(value) {
			v.Secret = true
		}
	}
}

// variable returns the variable of that name, and adds it if it is new.
func (e *environment) variable(name string) *Variable {
	i := slices.IndexFunc(e.variables, func(v Variable) bool { return v.Name == name })
	if i < 0 {
		i = len(e.variables)
		e.variables = append(e.variables, Variable{Name: name})
	}
	return &e.variables[i]
}
