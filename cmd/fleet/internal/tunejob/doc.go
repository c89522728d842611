// Package tunejob runs a fleet trial: an Indexed Job with one pod a node, each of which
// runs whole rounds of settings (package rounds), whose log is followed, and whose rounds
// are compared within node and round.
//
// What is lost is lost by the round: a pod that is deleted, a node that goes away or a
// container that is killed takes the round with it that was not yet on the log. Kubernetes
// starts the pod again, there or on another node, and rounds go on.
package tunejob
