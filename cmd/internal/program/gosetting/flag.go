package gosetting

import (
	"errors"
	"fmt"
	"strings"
)

// CheckFlag refuses variables of a flag that are not KEY=VALUE, are set twice, or that Go programs do not
// read.
func CheckFlag(flag string, env []string) error {
	seen := make(map[string]string)
	for _, kv := range env {
		key, _, ok := strings.Cut(kv, "=")
		if !ok || key == "" || strings.ContainsRune(kv, 0) {
			return fmt.Errorf("%s %q: want KEY=VALUE", flag, kv)
		}
		if first, twice := seen[key]; twice {
			return fmt.Errorf("%s %s and %s %s both set %s: give one", flag, first, flag, kv, key)
		}
		if err := CheckMeant(kv); err != nil {
			return fmt.Errorf("%s %w", flag, err)
		}
		seen[key] = kv
	}
	return nil
}

// CheckMeant refuses a variable that Go programs do not read as it is meant. A setting of GODEBUG
// that folio does not know may be of a newer Go.
func CheckMeant(kv string) error {
	err := Check(kv, "")
	if p, ok := errors.AsType[*Problem](err); ok && p.Unknown {
		return nil
	}
	return err
}
