// Package remedy says what makes the parts of a process's memory smaller: rules over the
// parts of a waterfall, each with the most that it can return, by part. What several
// remedies can return of one part is counted once. Rules are pure: all that they know is
// in their facts. folio inspect and folio doctor say the same.
package remedy
