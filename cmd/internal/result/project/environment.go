package project

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// envFile has variables for CI, NAME=VALUE, and no comments: GitHub and GitLab refuse them.
const envFile = ".folio.env"

// pipelines are files and directories of CI systems.
var pipelines = []string{".github/workflows", ".gitlab-ci.yml", ".circleci", ".forgejo/workflows", ".gitea/workflows", ".travis.yml",
	".buildkite", ".drone.yml", ".woodpecker.yml", ".woodpecker", "Jenkinsfile", "azure-pipelines.yml", "bitbucket-pipelines.yml"}

// environment puts the variables of the setting into envFile, for projects with CI.
func (p *planner) environment() error {
	old, err := p.read(envFile)
	if err != nil {
		return err
	}
	var vars []string
	if !p.Remove && (old != nil || slices.ContainsFunc(pipelines, p.exists)) {
		vars = p.Setting.Vars()
	}
	newline := newlineOf(old)
	var text strings.Builder
	for _, v := range vars {
		text.WriteString(v + newline)
	}
	for line := range strings.Lines(string(old)) {
		if name, _, _ := strings.Cut(line, "="); trial.GoVariableNamed(strings.TrimSpace(name)) == nil {
			text.WriteString(line)
		}
	}
	if len(vars) > 0 {
		p.Set++
		p.note("%s: variables for CI: set -a; . ./%[1]s; set +a, or on GitHub: cat %[1]s >> \"$GITHUB_ENV\"", envFile)
	}
	if text.Len() == 0 {
		p.change(envFile, old, nil)
	} else {
		p.change(envFile, old, []byte(text.String()))
	}
	return nil
}
