// Package gate tests the gate for pull requests in the directory gate: its scripts, run as the
// shells of GitHub and GitLab run them.
package gate
