/** Style sheets are taken in for their effect. */
declare module "*.css";
