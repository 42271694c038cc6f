"""Results of a specification's cases, for people and for programs: text, TAP, JUnit, JSON, pages, figures."""
