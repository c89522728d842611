package testenv

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// rootEnv names a file: the tests that an ordinary user could not do here, for root.
const rootEnv = "FOLIO_TEST_ROOT"

// home is the directory of the package, in which tests begin.
var home, _ = os.Getwd()

// AsRoot has a test run again as root, by whoever set FOLIO_TEST_ROOT to the name of a
// file: a line has the directory of the package, a tab, and the pattern of -test.run.
// It returns false where nobody did.
func AsRoot(test string) bool {
	list := os.Getenv(rootEnv)
	if list == "" {
		return false
	}
	f, err := os.OpenFile(list, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return false
	}
	elements := strings.Split(test, "/")
	for i, e := range elements {
		elements[i] = "^" + regexp.QuoteMeta(e) + "$"
	}
	_, err = fmt.Fprintf(f, "%s\t%s\n", home, strings.Join(elements, "/"))
	return f.Close() == nil && err == nil
}
