//! The daemons of Firesteel.
